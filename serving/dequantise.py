"""`python -m serving.dequantise FILE.gguf FOLDER`: convert a GGUF file to a float32 checkpoint.

It uses no network and imports nothing else of this package, so that it runs in any Python with torch and transformers.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> None:
    """Convert the file named on the command line."""
    gguf, folder = Path(sys.argv[1]), Path(sys.argv[2])
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    where = {"gguf_file": gguf.name, "trust_remote_code": False}
    config = transformers.GgufConfig(dequantize=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), dtype=torch.float32, quantization_config=config, **where
    )
    model.save_pretrained(folder, safe_serialization=True)
    transformers.AutoTokenizer.from_pretrained(str(gguf.parent), **where).save_pretrained(folder)


if __name__ == "__main__":
    main()
