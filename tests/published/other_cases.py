"""Small models of packages that many projects build on, beside those that have a file of their own.

A row names a class or function of a package, gives arguments that make it small, and tells the arguments of a call by
its size. Arguments that many constructors share come from `_SMALL`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .cases import Call, Case

_SMALL = {
    "image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 32, "dim_head": 8,
    "spatial_dims": 2, "in_channels": 1, "out_channels": 2, "frames": 4, "frame_patch_size": 2, "image_patch_size": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A model and its calls: a path in its package, arguments for it, and a call's arguments by its size."""

    path: str
    call: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, int] = (1, 3)
    given: dict[str, Any] = field(default_factory=dict)
    around: Callable[[nn.Module], nn.Module] | None = None  # what makes the model of the object at the path
    label: str = ""


def cases() -> Iterator[Case]:
    for row in ROWS:
        yield Case(row.path + (f" {row.label}" if row.label else ""), partial(make, row))


def make(row: Row) -> tuple[nn.Module, list[Call]]:
    cls = found(row.path)
    names = inspect.signature(cls).parameters
    shared = {name: value for name, value in _SMALL.items() if name in names}
    if not any(name in names for name in ("dim", "spatial_dims", "image_size")):
        shared = {}  # other classes mean other things by `heads` and the like
    given = {name: value() if inspect.isfunction(value) else value for name, value in row.given.items()}
    model = cls(**shared | given)
    if row.around is not None:
        model = row.around(model)
    return model.eval(), [Call(row.call(size)) for size in row.sizes]


def found(path: str) -> Any:
    """Return the class or function that a dotted path names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def small(path: str, **given: Any) -> Callable[[], Any]:
    """Return a function that makes an object of a package, for an argument of another."""

    def made() -> Any:
        return make(Row(path, lambda n: (), (0, 0), given))[0]

    return made


def images(channels: int = 3, side: int = 32) -> Callable[[int], tuple[Tensor, ...]]:
    """Return the argument of a call: as many images as the size tells."""
    return lambda n: (torch.rand(n, channels, side, side),)


def sides(channels: int = 3, count: int = 2) -> Callable[[int], tuple[Tensor, ...]]:
    """Return the argument of a call: images whose sides the size tells."""
    return lambda n: (torch.rand(count, channels, n, n),)


def videos(channels: int = 3, frames: int = 4, side: int = 32) -> Callable[[int], tuple[Tensor, ...]]:
    return lambda n: (torch.rand(n, channels, frames, side, side),)


def rows(*sizes: int) -> Callable[[int], tuple[Tensor, ...]]:
    """Return the argument of a call: a tensor whose size -1 is the size of the call."""
    return lambda n: (torch.randn([n if size < 0 else size for size in sizes]),)


def both(*parts: Callable[[int], tuple[Any, ...]]) -> Callable[[int], tuple[Any, ...]]:
    return lambda n: tuple(argument for part in parts for argument in part(n))


def ids(*sizes: int, most: int = 20) -> Callable[[int], tuple[Tensor, ...]]:
    return lambda n: (torch.randint(0, most, [n if size < 0 else size for size in sizes]),)


def _vit_pytorch() -> Iterator[Row]:
    """Images of one side, batches of two sizes, unless the class takes images of any size."""
    for name in (
        "deepvit.DeepViT", "jumbo_vit.JumboViT", "learnable_memory_vit.ViT", "mp3.ViT", "normalized_vit.nViT",
        "parallel_vit.ViT", "rvt.RvT", "simple_flash_attn_vit.SimpleViT", "simple_uvit.SimpleUViT",
        "simple_vit.SimpleViT", "simple_vit_attn_residual.SimpleViTAttnResidual",
        "simple_vit_orthog_residual_update.SimpleViT", "simple_vit_with_patch_dropout.SimpleViT",
        "simple_vit_with_qk_norm.SimpleViT", "simple_vit_with_register_tokens.SimpleViT",
        "simple_vit_with_relative_proj_pos_bias.SimpleViT", "simple_vit_with_sparse_gating.SimpleViTWithSparseGating",
        "simple_vit_with_value_residual.SimpleViT", "simple_vit_with_specialized_cls.SimpleViT",
        "attn_residual_with_dca_simple_vit.SimpleViT", "vaat.ViT", "vat.ViT", "vit.ViT", "vit_5.ViT", "vit_detpool.ViTDetPool",
        "vit_for_small_dataset.ViT", "vit_with_decorr.ViT", "vit_with_keel_post_ln.ViT", "vit_with_patch_dropout.ViT",
        "vit_with_patch_merger.ViT",
    ):  # fmt: skip
        yield Row(f"vit_pytorch.{name}", images())
    given: dict[str, dict[str, Any]] = {  # fmt: skip
        "ats_vit.ViT": {"max_tokens_per_depth": (8, 4)},
        "cait.CaiT": {"cls_depth": 1},
        "cct.CCT": {"img_size": 32, "embedding_dim": 16, "num_layers": 2, "num_heads": 2, "mlp_ratio": 2.0, "num_classes": 5},
        "cross_vit.CrossViT": {
            "sm_dim": 16, "lg_dim": 24, "sm_patch_size": 8, "sm_enc_heads": 2, "lg_enc_heads": 2, "depth": 1},
        "efficient.ViT": {"transformer": small("linformer.Linformer", seq_len=17, k=8)},
        "jet_vit.JetViT": {"window_size": 2},
        "nest.NesT": {"num_hierarchies": 2, "block_repeats": (1, 1), "patch_size": 4},
        "pit.PiT": {"depth": (1, 1)},
        "simple_vit_with_fft.SimpleViT": {"freq_patch_size": 8},
        "simple_vit_with_hyper_connections.SimpleViT": {"num_residual_streams": 2},
        "t2t.T2TViT": {"t2t_layers": ((3, 2), (3, 2))},
        "looped_vit.LoopedViT": {"pre_loop_depth": 1, "num_looped_blocks": 1, "post_loop_depth": 1, "loop_depth": 2},
        "vit_nd.ViTND": {"ndim": 2, "input_shape": 32},
        "vit_nd_pope.ViTND": {"ndim": 2, "input_shape": 32},
        "vit_nd_rotary.ViTND": {"ndim": 2, "input_shape": 32, "dim_head": 16},
        "wwt.WWT": {"num_slots": (4,)},
        "xcit.XCiT": {"cls_depth": 1},
        "vat_siglip.SigLIP": {},
        "look_vit.LookViT": {"patch_size": 8, "highres_patch_size": 4},
    }
    for name, arguments in given.items():
        yield Row(f"vit_pytorch.{name}", images(), given=arguments)
    yield Row("vit_pytorch.levit.LeViT", images(side=64), given={
        "image_size": 64, "dim": (8, 12, 16), "depth": 1, "heads": (1, 2, 2), "mlp_mult": 2})  # fmt: skip
    yield Row("vit_pytorch.mobile_vit.MobileViT", images(side=64), given={
        "image_size": (64, 64), "patch_size": (2, 2), "dims": [16, 24, 32],
        "channels": [8, 8, 8, 8, 16, 16, 16, 16, 24, 24, 32]})  # fmt: skip
    yield Row("vit_pytorch.mp3.MP3", images(), given={"vit": small("vit_pytorch.mp3.ViT"), "masking_ratio": 0.5})
    yield Row("vit_pytorch.learnable_memory_vit.Adapter", images(), given={
        "vit": small("vit_pytorch.learnable_memory_vit.ViT")})  # fmt: skip
    yield Row("vit_pytorch.extractor.Extractor", images(), given={"vit": small("vit_pytorch.vit.ViT")})
    yield Row("vit_pytorch.recorder.Recorder", images(), given={"vit": small("vit_pytorch.vit.ViT")})
    yield Row("vit_pytorch.max_vit.MaxViT", sides(), (32, 48), {"dim": 8, "depth": (1, 1), "window_size": 2})
    yield Row("vit_pytorch.max_vit_with_registers.MaxViT", sides(), (32, 48), {"dim": 8, "depth": (1, 1), "window_size": 2})
    yield Row("vit_pytorch.cvt.CvT", sides(), (32, 64), {
        "num_classes": 5, "s1_emb_dim": 8, "s2_emb_dim": 12, "s2_heads": 2, "s2_depth": 1, "s3_emb_dim": 16, "s3_heads": 2,
        "s3_depth": 1})  # fmt: skip
    stages = {"dim": (8, 16, 24, 32), "depth": (1, 1, 1, 1), "num_classes": 5}
    yield Row("vit_pytorch.crossformer.CrossFormer", sides(), (64, 128), stages | {
        "dim": (32, 32, 64, 64), "global_window_size": (4, 4, 2, 1), "local_window_size": 2})  # fmt: skip
    yield Row("vit_pytorch.regionvit.RegionViT", sides(), (64, 128), stages | {"window_size": 2})
    yield Row("vit_pytorch.scalable_vit.ScalableViT", sides(), (32, 64), {
        "depth": (1, 1), "heads": (2, 2), "reduction_factor": (2, 1), "window_size": (4, None)})  # fmt: skip
    yield Row("vit_pytorch.sep_vit.SepViT", sides(), (56, 112), {"dim": 8, "depth": (1, 1), "heads": (1, 2)})
    yield Row("vit_pytorch.twins_svt.TwinsSVT", sides(), (64, 128), {"num_classes": 5} | {
        f"s{i}_{name}": value for i in range(1, 5)
        for name, value in (("emb_dim", 8 * i), ("local_patch_size", 2), ("global_k", 2), ("depth", 1))
        if (i, name) != (4, "local_patch_size")})  # fmt: skip
    yield Row("vit_pytorch.vit_1d.ViT", rows(-1, 3, 64), given={"seq_len": 64})
    yield Row("vit_pytorch.simple_vit_1d.SimpleViT", rows(-1, 3, 64), given={"seq_len": 64})
    for name in ("vit_3d.ViT", "simple_vit_3d.SimpleViT", "simple_flash_attn_vit_3d.SimpleViT"):
        yield Row(f"vit_pytorch.{name}", videos())
    for name in ("vivit.ViViT", "vivit_with_moss.ViViT"):
        yield Row(f"vit_pytorch.{name}", videos(), given={"spatial_depth": 1, "temporal_depth": 1})
    yield Row("vit_pytorch.cct_3d.CCT", videos(), given={
        "img_size": 32, "num_frames": 4, "embedding_dim": 16, "num_layers": 2, "num_heads": 2, "mlp_ratio": 2.0,
        "num_classes": 5})  # fmt: skip
    yield Row("vit_pytorch.na_vit.NaViT", lambda n: (
        [[torch.rand(3, 8 * n, 16), torch.rand(3, 16, 8)], [torch.rand(3, 8, 8)]],))  # fmt: skip
    yield Row("vit_pytorch.na_vit_nested_tensor.NaViT", lambda n: ([torch.rand(3, 8 * n, 16), torch.rand(3, 16, 8)],))
    yield Row("vit_pytorch.vaat.AST", rows(2, -1), (1600, 2400), {"num_classes": 5})
    yield Row("vit_pytorch.accept_video_wrapper.AcceptVideoWrapper", lambda n: (torch.rand(2, 3, n, 32, 32),), (2, 3), {
        "image_net": small("vit_pytorch.vit.ViT")})  # fmt: skip


def _x_transformers() -> Iterator[Row]:
    options: dict[str, dict[str, Any]] = {
        "plain": {}, "rotary": {"rotary_pos_emb": True}, "alibi": {"alibi_pos_bias": True}, "relative": {"rel_pos_bias": True},
        "glu": {"ff_glu": True, "ff_swish": True, "ff_no_bias": True}, "rmsnorm": {"use_rmsnorm": True},
        "talking heads": {"attn_pre_talking_heads": True}, "sparse": {"attn_sparse_topk": 4},
        "one kv head": {"attn_one_kv_head": True},
        "flash": {"attn_flash": True}, "macaron": {"macaron": True}, "memory": {"attn_num_mem_kv": 2},
        "residual gates": {"gate_residual": True}, "shifted": {"shift_tokens": 1}, "qk norm": {"attn_qk_norm": True},
        "dynamic bias": {"dynamic_pos_bias": True, "dynamic_pos_bias_log_distance": False}, "sandwich": {"sandwich_coef": 1},
        "value residual": {"add_value_residual": True}, "hybrid xpos": {"rotary_xpos": True},
    }  # fmt: skip

    def layers(kind: str, **more: Any) -> Callable[[], Any]:
        return lambda: found(f"x_transformers.{kind}")(dim=16, depth=2, heads=2, attn_dim_head=8, **more)

    for label, more in options.items():
        yield Row("x_transformers.TransformerWrapper", ids(2, -1), (7, 12), {
            "num_tokens": 20, "max_seq_len": 16, "attn_layers": layers("Decoder", **more)}, label=label)  # fmt: skip
    yield Row("x_transformers.TransformerWrapper", lambda n: (torch.randint(0, 20, (2, n)),), (7, 12), {
        "num_tokens": 20, "max_seq_len": 16, "num_memory_tokens": 2, "attn_layers": layers("Encoder")},
        label="encoder")  # fmt: skip
    yield Row("x_transformers.ViTransformerWrapper", images(), given={
        "image_size": 32, "patch_size": 8, "num_classes": 5, "attn_layers": layers("Encoder")})  # fmt: skip
    yield Row("x_transformers.ContinuousTransformerWrapper", rows(2, -1, 4), (7, 12), {
        "max_seq_len": 16, "dim_in": 4, "dim_out": 3, "attn_layers": layers("Encoder")})  # fmt: skip
    yield Row("x_transformers.CrossAttender", both(rows(2, -1, 16), rows(2, 5, 16)), (7, 12), {
        "dim": 16, "depth": 2, "heads": 2})  # fmt: skip
    yield Row("x_transformers.AutoregressiveWrapper", ids(2, -1), (7, 12), {
        "net": lambda: found("x_transformers.TransformerWrapper")(
            num_tokens=20, max_seq_len=16, attn_layers=layers("Decoder")())})  # fmt: skip
    yield Row("x_transformers.XTransformer", both(ids(2, -1), ids(2, 6)), (7, 12), {
        f"{side}_{name}": value for side in ("enc", "dec")
        for name, value in (("num_tokens", 20), ("depth", 1), ("heads", 2), ("max_seq_len", 16))})  # fmt: skip
    yield Row("x_transformers.MultiInputTransformerWrapper", lambda n: (
        {"a": torch.randint(0, 20, (2, n)), "b": torch.randint(0, 9, (2, n))},), (7, 12), {
        "num_tokens": {"a": 20, "b": 9}, "max_seq_len": 16, "attn_layers": layers("Decoder")})  # fmt: skip


def _sequences() -> Iterator[Row]:
    """Models of sequences: attention of linear cost, perceivers, convolutions."""
    yield Row("linformer.Linformer", rows(-1, 16, 16), given={"seq_len": 16, "k": 8})
    yield Row("linformer.LinformerLM", ids(-1, 16), given={"num_tokens": 20, "seq_len": 16, "k": 8})
    yield Row("performer_pytorch.Performer", rows(2, -1, 16), (7, 12))
    yield Row("performer_pytorch.PerformerLM", ids(2, -1), (7, 12), {"num_tokens": 20, "max_seq_len": 16, "causal": False})
    yield Row("performer_pytorch.SelfAttention", rows(2, -1, 16), (7, 12), {"causal": True})
    yield Row("conformer.Conformer", rows(2, -1, 16), (9, 12), {"conv_kernel_size": 3})
    yield Row("conformer.ConformerBlock", rows(2, -1, 16), (9, 12), {"conv_kernel_size": 3, "conv_causal": True})
    yield Row("g_mlp_pytorch.gMLP", ids(-1, 16), given={"num_tokens": 20, "seq_len": 16})
    yield Row("g_mlp_pytorch.gMLPVision", images())
    yield Row("mlp_mixer_pytorch.MLPMixer", images(), given={"channels": 3})
    yield Row("mlp_mixer_pytorch.MLPMixer3D", lambda n: (torch.rand(n, 3, 4, 32, 32),), given={
        "channels": 3, "time_size": 4, "time_patch_size": 2})  # fmt: skip
    yield Row("mlp_mixer_pytorch.Permutator", images(), given={"segments": 4})
    perceiver = {
        "num_freq_bands": 2, "max_freq": 4.0, "num_latents": 4, "latent_dim": 16, "latent_heads": 2, "cross_dim_head": 8,
        "latent_dim_head": 8, "num_classes": 5, "depth": 2}  # fmt: skip
    for name in ("perceiver_pytorch", "gated"):
        yield Row(f"perceiver_pytorch.{name}.Perceiver", lambda n: (torch.rand(2, n, n, 3),), (6, 9), perceiver)
    latents = {"num_latents": 4, "latent_dim": 16, "latent_heads": 2, "cross_dim_head": 8, "latent_dim_head": 8}
    yield Row("perceiver_pytorch.perceiver_io.PerceiverIO", both(rows(2, -1, 16), lambda n: (None, torch.rand(5, 8))), (6, 9),
        latents | {"queries_dim": 8, "logits_dim": 3})  # fmt: skip
    yield Row("perceiver_pytorch.perceiver_io.PerceiverLM", ids(2, -1), (6, 9), latents | {
        "num_tokens": 20, "max_seq_len": 16, "depth": 1})  # fmt: skip
    yield Row("local_attention.LocalAttention", lambda n: tuple(torch.rand(3, 2, n, 8).unbind(0)), (8, 12), {
        "window_size": 4, "dim": 8, "causal": True})  # fmt: skip
    yield Row("local_attention.transformer.LocalMHA", rows(2, -1, 16), (8, 12), {"window_size": 4, "causal": True})
    yield Row("local_attention.transformer.LocalTransformer", ids(2, -1), (8, 12), {
        "num_tokens": 20, "max_seq_len": 16, "local_attn_window_size": 4})  # fmt: skip
    yield Row("rotary_embedding_torch.RotaryEmbedding", lambda n: (torch.arange(n),), (7, 12), {"dim": 8})
    yield Row("axial_positional_embedding.AxialPositionalEmbedding", rows(2, -1, 16), (7, 12), {"axial_shape": (4, 4)})
    yield Row("pytorch_tcn.TCN", rows(2, 4, -1), (9, 20), {"num_inputs": 4, "num_channels": [8, 8]})
    yield Row("pytorch_tcn.TCN", rows(2, 4, -1), (9, 20), {
        "num_inputs": 4, "num_channels": [8, 8], "causal": False, "use_skip_connections": True, "use_norm": "layer_norm"},
        label="skips")  # fmt: skip
    conv = {"in_channels": 4, "out_channels": 6, "kernel_size": 3}
    yield Row("pytorch_tcn.TemporalConv1d", rows(2, 4, -1), (9, 20), conv)
    yield Row("pytorch_tcn.TemporalConvTranspose1d", rows(2, 4, -1), (9, 20), conv | {"kernel_size": 4, "stride": 2})
    yield Row("pytorch_tcn.tcn.TCN", rows(2, 4, -1), (9, 20), {
        "num_inputs": 4, "num_channels": [8, 8], "use_gate": True, "activation": "tanh"}, label="gate")  # fmt: skip


def _audio() -> Iterator[Row]:
    yield Row("julius.LowPassFilter", rows(2, -1), (300, 500), {"cutoff": 0.1})
    yield Row("julius.LowPassFilters", rows(2, -1), (300, 500), {"cutoffs": [0.1, 0.2], "stride": 2})
    yield Row("julius.HighPassFilter", rows(2, -1), (300, 500), {"cutoff": 0.1})
    yield Row("julius.BandPassFilter", rows(2, -1), (300, 500), {"cutoff_low": 0.1, "cutoff_high": 0.2})
    yield Row("julius.SplitBands", rows(2, -1), (300, 500), {"sample_rate": 1000, "n_bands": 3})
    yield Row("julius.ResampleFrac", rows(2, -1), (300, 500), {"old_sr": 4, "new_sr": 5})
    yield Row("julius.FFTConv1d", rows(2, 1, -1), (300, 500), {"in_channels": 1, "out_channels": 2, "kernel_size": 64})
    encodec = {"dimension": 16, "n_filters": 4, "ratios": [4, 2]}
    yield Row("encodec.modules.SEANetEncoder", rows(1, 1, -1), (160, 240), encodec)
    yield Row("encodec.modules.SEANetDecoder", rows(1, 16, -1), (20, 30), encodec)
    yield Row("encodec.modules.SLSTM", rows(1, 16, -1), (20, 30), {"dimension": 16})
    yield Row("encodec.modules.StreamingTransformerEncoder", rows(1, -1, 16), (20, 30), {
        "dim": 16, "num_heads": 2, "num_layers": 2})  # fmt: skip
    yield Row("encodec.quantization.ResidualVectorQuantizer", both(rows(1, 16, -1), lambda n: (50,)), (20, 30), {
        "dimension": 16, "n_q": 2, "bins": 8})  # fmt: skip
    bank = {"n_filters": 16, "kernel_size": 16, "stride": 8}
    for name in ("FreeFB", "STFTFB", "ParamSincFB", "AnalyticFreeFB", "TorchSTFTFB"):
        given = bank | ({"sample_rate": 8000.0} if name == "ParamSincFB" else {})
        yield Row(f"asteroid_filterbanks.{name}", rows(2, 1, -1), (160, 240), given,
            lambda bank: found("asteroid_filterbanks.Encoder")(bank))  # fmt: skip
    yield Row("asteroid_filterbanks.FreeFB", rows(2, 16, -1), (20, 30), bank,
        lambda bank: found("asteroid_filterbanks.Decoder")(bank), label="decoder")  # fmt: skip
    yield Row("asteroid_filterbanks.pcen.PCEN", lambda n: (torch.rand(2, 1, 8, n),), (20, 30), {"n_channels": 1})


def _graphs() -> Iterator[Row]:
    def graph(n: int) -> tuple[Tensor, Tensor]:
        return torch.rand(2, n, 4), (torch.rand(2, n, n) > 0.5).float()

    for name in ("DenseGATConv", "DenseGCNConv", "DenseGraphConv", "DenseSAGEConv"):
        yield Row(f"torch_geometric.nn.{name}", graph, (5, 8), {"in_channels": 4, "out_channels": 6})
    yield Row("torch_geometric.nn.DenseGINConv", graph, (5, 8), {"nn": lambda: nn.Linear(4, 6)})
    yield Row("torch_geometric.nn.DMoNPooling", graph, (5, 8), {"channels": 4, "k": 3})
    yield Row("torch_geometric.nn.Linear", rows(-1, 4), (5, 8), {"in_channels": 4, "out_channels": 6})
    yield Row("torch_geometric.nn.HeteroLinear", both(rows(-1, 4), ids(-1, most=3)), (5, 8), {
        "in_channels": 4, "out_channels": 6, "num_types": 3})  # fmt: skip
    edges = both(rows(-1, 4), ids(2, 12, most=5))
    wide = {"in_channels": 4, "out_channels": 6}
    for name in ("GCNConv", "SAGEConv", "GATConv", "GATv2Conv", "GraphConv", "TransformerConv"):
        yield Row(f"torch_geometric.nn.{name}", edges, (5, 8), wide)
    for name in ("ChebConv", "TAGConv", "SGConv"):
        yield Row(f"torch_geometric.nn.{name}", edges, (5, 8), wide | {"K": 2})
    yield Row("torch_geometric.nn.GINConv", edges, (5, 8), {"nn": lambda: nn.Linear(4, 6)})
    for name in ("GCN", "GraphSAGE", "GAT", "GIN"):
        yield Row(f"torch_geometric.nn.{name}", edges, (5, 8), {"in_channels": 4, "hidden_channels": 8, "num_layers": 2})
    for name in ("GraphNorm", "PairNorm", "LayerNorm", "BatchNorm"):
        yield Row(f"torch_geometric.nn.{name}", rows(-1, 4), (5, 8), {} if name == "PairNorm" else {"in_channels": 4})


def _pictures() -> Iterator[Row]:
    """Nets that segment, generate and describe images."""
    for name in ("Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "DeepLabV3", "DeepLabV3Plus", "UPerNet",
                 "Segformer"):  # fmt: skip
        yield Row(f"segmentation_models_pytorch.{name}", sides(), (64, 96), {
            "encoder_name": "resnet18", "encoder_weights": None})  # fmt: skip
    unet = {"dim": 8, "dim_mults": (1, 2)}
    yield Row("denoising_diffusion_pytorch.Unet", both(sides(), ids(2, most=100)), (16, 32), unet)
    yield Row("denoising_diffusion_pytorch.Unet1D", both(rows(2, 3, -1), ids(2, most=100)), (16, 32), unet)
    for name in ("HardNet", "SOSNet", "TFeat", "HyNet"):
        yield Row(f"kornia.feature.{name}", images(1), given={"pretrained": False})
    yield Row("kornia.feature.KeyNet", sides(1), (32, 48), {"pretrained": False})
    yield Row("kornia.feature.SIFTDescriptor", images(1, 41))
    yield Row("kornia.feature.PatchAffineShapeEstimator", images(1, 19))
    yield Row("kornia.feature.CornerHarris", sides(1), (32, 48), {"k": 0.05})
    yield Row("kornia.feature.BlobHessian", sides(1), (32, 48))
    filters: dict[str, dict[str, Any]] = {
        "GaussianBlur2d": {"kernel_size": (3, 3), "sigma": (1.0, 1.0)}, "BoxBlur": {"kernel_size": 3},
        "MedianBlur": {"kernel_size": 3}, "Sobel": {}, "SpatialGradient": {}, "Laplacian": {"kernel_size": 3}, "Canny": {},
        "BilateralBlur": {"kernel_size": 3, "sigma_color": 0.1, "sigma_space": (1.0, 1.0)},
        "UnsharpMask": {"kernel_size": (3, 3), "sigma": (1.0, 1.0)}, "MaxBlurPool2D": {"kernel_size": 3},
        "MotionBlur": {"kernel_size": 3, "angle": 30.0, "direction": 0.5}, "BlurPool2D": {"kernel_size": 3},
    }  # fmt: skip
    for name, given in filters.items():
        yield Row(f"kornia.filters.{name}", sides(), (16, 24), given)
    for name in ("RgbToHsv", "RgbToLab", "RgbToYcbcr", "HsvToRgb", "RgbToGrayscale", "RgbToLuv", "RgbToXyz", "RgbToHls",
                 "Sepia"):  # fmt: skip
        yield Row(f"kornia.color.{name}", sides(), (16, 24))
    tuned: dict[str, dict[str, Any]] = {
        "AdjustBrightness": {"brightness_factor": 0.3}, "AdjustContrast": {"contrast_factor": 0.3},
        "AdjustHue": {"hue_factor": 0.3}, "AdjustSaturation": {"saturation_factor": 0.3}, "AdjustGamma": {"gamma": 0.3},
        "Normalize": {"mean": torch.zeros(3), "std": torch.ones(3)}, "Invert": {},
    }  # fmt: skip
    for name, given in tuned.items():
        yield Row(f"kornia.enhance.{name}", sides(), (16, 24), given)
    turned: dict[str, dict[str, Any]] = {
        "Resize": {"size": (12, 20)}, "Hflip": {}, "Rotate": {"angle": torch.tensor([30.0])}, "PyrDown": {}, "PyrUp": {},
        "ScalePyramid": {"min_size": 8}, "Translate": {"translation": torch.tensor([[1.0, 2.0]])}, "Rescale": {"factor": 2.0},
    }  # fmt: skip
    for name, given in turned.items():
        yield Row(f"kornia.geometry.{name}", sides(1), (16, 24), given)
    for name in ("SSIMLoss", "PSNRLoss", "MS_SSIMLoss", "CharbonnierLoss"):
        given = {"window_size": 5} if name == "SSIMLoss" else {"max_val": 1.0} if name == "PSNRLoss" else {}
        yield Row(f"kornia.losses.{name}", both(sides(), sides()), (32, 48), given)
    yield Row("kornia.losses.TotalVariation", sides(), (16, 24))
    for name in ("FocalLoss", "DiceLoss", "TverskyLoss", "LovaszSoftmaxLoss"):
        given = {"alpha": 0.5} if name in ("FocalLoss", "TverskyLoss") else {}
        given |= {"beta": 0.5} if name == "TverskyLoss" else {}
        yield Row(f"kornia.losses.{name}", both(sides(), ids(2, -1, -1, most=3)), (8, 12), given)
    yield Row("kornia.contrib.ExtractTensorPatches", sides(), (16, 24), {"window_size": 8, "stride": 4})
    yield Row("kornia.contrib.DistanceTransform", sides(1), (16, 24))


def _monai() -> Iterator[Row]:
    flat, even = {"channels": (4, 8, 16), "strides": (2, 2)}, {"channels": (4, 8), "strides": (2, 2)}
    given: dict[str, dict[str, Any]] = {
        "AttentionUnet": flat, "AutoEncoder": even, "UNet": flat | {"num_res_units": 1}, "HighResNet": {},
        "BasicUNet": {"features": (4, 4, 8, 8, 8, 4)}, "BasicUNetPlusPlus": {"features": (4, 4, 8, 8, 8, 4)},
        "SegResNet": {"norm": ("GROUP", {"num_groups": 4})},
        "RegUNet": {"num_channel_initial": 4, "depth": 2}, "VNet": {"dropout_dim": 2},
        "DynUNet": {"kernel_size": [3, 3, 3], "strides": [1, 2, 2], "upsample_kernel_size": [2, 2], "filters": [4, 8, 8]},
        "PatchDiscriminator": {"channels": 4, "num_layers_d": 2}, "MedNeXt": {"init_filters": 4, "kernel_size": 3},
        "VQVAE": {"channels": (4, 8), "num_res_layers": 1, "num_res_channels": (4, 8),
                  "downsample_parameters": ((2, 4, 1, 1),) * 2,
                  "upsample_parameters": ((2, 4, 1, 1, 0),) * 2, "num_embeddings": 8, "embedding_dim": 4},
        "AutoencoderKL": {
            "num_res_blocks": (1, 1), "channels": (4, 8), "attention_levels": (False, True), "norm_num_groups": 4},
        "DenseNet": {"init_features": 8, "growth_rate": 4, "block_config": (2, 2)},
        "AHNet": {"layers": (1, 1, 1, 1), "psp_block_num": 0},
        "restormer.Restormer": {"dim": 8, "heads": (1, 1, 1, 1), "out_channels": 1, "num_refinement_blocks": 1},
    }  # fmt: skip
    for name, arguments in given.items():
        yield Row(f"monai.networks.nets.{name}", sides(1), (32, 64), arguments)
    vit = {"in_channels": 1, "img_size": (32, 32), "patch_size": (8, 8), "hidden_size": 16, "mlp_dim": 32, "num_layers": 2,
           "num_heads": 2}  # fmt: skip
    for name in ("ViT", "ViTAutoEnc", "MaskedAutoEncoderViT"):
        decoder = {"decoder_hidden_size": 16, "decoder_mlp_dim": 32, "decoder_num_layers": 1, "decoder_num_heads": 2}
        more = decoder if name == "MaskedAutoEncoderViT" else {"patch_size": (4, 4)} if name == "ViTAutoEnc" else {}
        yield Row(f"monai.networks.nets.{name}", images(1), given=vit | more)
    yield Row("monai.networks.nets.UNETR", images(1), given={
        "img_size": (32, 32), "feature_size": 4, "hidden_size": 16, "mlp_dim": 32, "num_heads": 2})  # fmt: skip
    yield Row("monai.networks.nets.SwinUNETR", sides(1), (64, 96), {
        "patch_size": 2, "feature_size": 12, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 2, 2), "window_size": 4})  # fmt: skip
    for name in ("Classifier", "Discriminator", "Critic", "Regressor"):
        last = {"classes": 3} if name == "Classifier" else {"out_shape": 3} if name == "Regressor" else {}
        yield Row(f"monai.networks.nets.{name}", images(1), given=even | last | {"in_shape": (1, 32, 32)})
    yield Row("monai.networks.nets.Generator", rows(-1, 6), given={
        "latent_shape": 6, "start_shape": (4, 8, 8), "channels": (8, 1), "strides": (2, 2)})  # fmt: skip
    yield Row("monai.networks.nets.FullyConnectedNet", rows(-1, 4), given={
        "in_channels": 4, "out_channels": 2, "hidden_channels": (8, 8)})  # fmt: skip
    yield Row("monai.networks.nets.VarFullyConnectedNet", rows(-1, 4), given={
        "in_channels": 4, "out_channels": 2, "latent_size": 3, "encode_channels": (8,), "decode_channels": (8,)})  # fmt: skip
    yield Row("monai.networks.nets.VarAutoEncoder", images(1), given=even | {"in_shape": (1, 32, 32), "latent_size": 4})
    yield Row("monai.networks.nets.DiffusionModelUNet", both(sides(1), ids(2, most=50)), (16, 32), {
        "out_channels": 1, "num_res_blocks": (1, 1), "channels": (8, 8), "attention_levels": (False, True),
        "norm_num_groups": 4, "num_head_channels": 4})  # fmt: skip
    yield Row("monai.networks.nets.ControlNet", both(sides(1), ids(2, most=50), sides(1)), (16, 32), {
        "num_res_blocks": (1, 1), "channels": (8, 8), "attention_levels": (False, True), "norm_num_groups": 4,
        "num_head_channels": 4, "conditioning_embedding_num_channels": (8,)})  # fmt: skip
    yield Row("monai.networks.nets.resnet18", sides(1), (32, 64), {"spatial_dims": 2, "n_input_channels": 1, "num_classes": 3})
    yield Row("monai.networks.nets.EfficientNetBN", sides(), (32, 64), {
        "model_name": "efficientnet-b0", "pretrained": False, "in_channels": 3})  # fmt: skip
    yield Row("monai.networks.nets.FlexibleUNet", sides(), (32, 64), {"backbone": "efficientnet-b0", "in_channels": 3})
    yield Row("monai.networks.nets.VoxelMorph", both(images(1), images(1)), given={"spatial_dims": 2})
    yield Row("monai.networks.nets.GlobalNet", images(2), given={
        "image_size": [32, 32], "in_channels": 2, "num_channel_initial": 4, "depth": 2})  # fmt: skip
    yield Row("monai.networks.nets.LocalNet", images(2), given={
        "in_channels": 2, "num_channel_initial": 4, "extract_levels": (0, 1)})  # fmt: skip


ROWS = [row for family in (_vit_pytorch, _x_transformers, _sequences, _audio, _graphs, _pictures, _monai) for row in family()]
