"""A plugin of pytest (`-p stable_abi_only`): the bridge reads no object of Python but by the stable ABI."""

from scriptc.runtime import bridge

bridge.lib.sc_bridge_stable_abi_only()
