"""Which devices do the work: all GPUs there are, unless `DAT_DEVICE` says otherwise."""


def chosen_devices(wanted: str) -> list[str]:
    """Return torch devices for `auto` or a list such as `cuda:0,cuda:1` or `cpu`."""
    if wanted != "auto":
        return [name.strip() for name in wanted.split(",") if name.strip()]
    import torch

    if torch.cuda.is_available():
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return ["cpu"]
