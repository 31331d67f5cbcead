"""Recurrent and decoding programs as they are found in public code, for `tests/test_public.py`.

Written as such authors write them, not as a compiler likes them: TorchScript annotations and idioms, lists that are
concatenated, state in named tuples, loops over characters and beams.
"""
