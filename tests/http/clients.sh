#!/usr/bin/env bash
# LangChain, LiteLLM and llm against the program: installs them into build/venv-clients (a few minutes, once) and runs clients_test.py there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=build/venv-clients
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/http/clients-requirements.txt
exec "$venv/bin/python" -m unittest -v tests/http/clients_test.py
