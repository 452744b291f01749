#!/usr/bin/env python3
"""Programs that people put in front of such servers: LangChain, LiteLLM and the command line client `llm`.

    tests/http/clients.sh                      installs them into build/venv-clients and runs this file there
    python3 -m unittest -v tests/http/clients_test.py

They are many megabytes, so tests/requirements.txt leaves them out; each test is skipped, saying why, where its package is not installed.
"""

import asyncio
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import HI, SECONDS, TINY, Server

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no list of prices from the network
QUESTION = HI[0]["content"]


def needs(package: str):
    return unittest.skipUnless(importlib.util.find_spec(package), f"the package {package} is not installed (tests/http/clients-requirements.txt)")


class ClientCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--parallel", "4").ready()
        cls.base = cls.server.url + "/v1"
        # Greedy: what every client must show.
        cls.want = cls.server.post("/v1/chat/completions", {"messages": HI, "max_tokens": 8, "temperature": 0})[1]["choices"][0]["message"]["content"]

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()


class LangChain(ClientCase):
    @needs("langchain_openai")
    def test_chat_openai_whole_streamed_async_and_in_batches(self):
        from langchain_openai import ChatOpenAI
        model = ChatOpenAI(model=TINY, base_url=self.base, api_key="any", temperature=0, max_tokens=8, max_retries=0, timeout=SECONDS, stream_usage=True)
        answer = model.invoke(QUESTION)
        self.assertEqual(answer.content, self.want)
        self.assertEqual((answer.usage_metadata["output_tokens"], answer.response_metadata["finish_reason"]), (8, "length"))
        chunks = list(model.stream(QUESTION))
        self.assertEqual("".join(chunk.content for chunk in chunks), self.want)
        self.assertEqual(sum(chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata), 8)
        self.assertEqual(asyncio.run(model.ainvoke(QUESTION)).content, self.want)
        self.assertEqual([one.content for one in model.batch([QUESTION] * 3)], [self.want] * 3)

    @needs("langchain_openai")
    def test_openai_completions_and_embeddings(self):
        from langchain_openai import OpenAI, OpenAIEmbeddings
        text = OpenAI(model=TINY, base_url=self.base, api_key="any", temperature=0, max_tokens=8, max_retries=0).invoke("the lamp")
        self.assertEqual(text, self.server.post("/v1/completions", {"prompt": "the lamp", "temperature": 0, "max_tokens": 8})[1]["choices"][0]["text"])
        # Its own tokens are those of OpenAI's models, so texts are what it must send.
        vectors = OpenAIEmbeddings(model=TINY, base_url=self.base, api_key="any", check_embedding_ctx_length=False).embed_documents(["the cat", "a dog"])
        self.assertEqual([len(vector) for vector in vectors], [128, 128])

    @needs("langchain_anthropic")
    def test_chat_anthropic_whole_and_streamed(self):
        from langchain_anthropic import ChatAnthropic
        model = ChatAnthropic(model="claude-x", base_url=self.server.url, api_key="any", temperature=0, max_tokens=8, max_retries=0, timeout=SECONDS)
        answer = model.invoke([("system", "S"), ("human", QUESTION)])
        self.assertEqual(answer.usage_metadata["output_tokens"], 8)
        self.assertEqual(model.invoke(QUESTION).content, self.want)
        self.assertEqual("".join(chunk.text if isinstance(chunk.text, str) else chunk.text() for chunk in model.stream(QUESTION)), self.want)


@needs("litellm")
class LiteLlm(ClientCase):
    def test_openai_and_anthropic_routes(self):
        import litellm
        common = {"messages": HI, "temperature": 0, "max_tokens": 8, "api_key": "any", "num_retries": 0}
        for name, base in (("openai/" + TINY, self.base), ("anthropic/claude-x", self.server.url)):
            with self.subTest(name):
                answer = litellm.completion(model=name, api_base=base, **common)
                self.assertEqual((answer.choices[0].message.content, answer.choices[0].finish_reason, answer.usage.completion_tokens), (self.want, "length", 8))
                chunks = list(litellm.completion(model=name, api_base=base, stream=True, **common))
                self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), self.want)

    def test_async_embeddings_and_errors(self):
        import litellm
        answer = asyncio.run(litellm.acompletion(model="openai/" + TINY, api_base=self.base, api_key="any", messages=HI, temperature=0, max_tokens=8))
        self.assertEqual(answer.choices[0].message.content, self.want)
        vectors = litellm.embedding(model="openai/" + TINY, api_base=self.base, api_key="any", input=["the cat", "a dog"]).data
        self.assertEqual(len(vectors[1]["embedding"]), 128)
        with self.assertRaises(litellm.NotFoundError):
            litellm.completion(model="openai/nobody", api_base=self.base, api_key="any", messages=HI, num_retries=0)
        with self.assertRaises(litellm.ContextWindowExceededError):
            litellm.completion(model="openai/" + TINY, api_base=self.base, api_key="any", messages=[{"role": "user", "content": "word " * 2000}], num_retries=0)


@needs("llm")
class LlmCommand(ClientCase):
    def test_prompts_streamed_and_whole(self):
        program = shutil.which("llm", path=os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")]))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "extra-openai-models.yaml").write_text(f"- model_id: tiny\n  model_name: {TINY}\n  api_base: {self.base}\n")
            for flags in ([], ["--no-stream"]):
                with self.subTest(flags):
                    run = subprocess.run([program, "-m", "tiny", QUESTION, "-o", "temperature", "0", "-o", "max_tokens", "8", "--key", "any", "--no-log", *flags], env=os.environ | {"LLM_USER_PATH": folder},
                                         capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL, text=True)
                    self.assertEqual((run.returncode, run.stdout.strip()), (0, self.want.strip()), run.stderr)


if __name__ == "__main__":
    unittest.main()
