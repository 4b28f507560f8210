"""`python -m serving.dequantise FILE.gguf FOLDER`: an ordinary float32 checkpoint of a GGUF file.

Invariant: no network; the folder holds what vLLM and transformers load without knowing of GGUF. Runs in
whichever Python has torch and transformers, so it imports nothing else of this package.
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
    where = {"gguf_file": gguf.name}
    config = transformers.GgufConfig(dequantize=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), dtype=torch.float32, quantization_config=config, **where
    )
    model.save_pretrained(folder, safe_serialization=True)
    transformers.AutoTokenizer.from_pretrained(str(gguf.parent), **where).save_pretrained(folder)


if __name__ == "__main__":
    main()
