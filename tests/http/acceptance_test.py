#!/usr/bin/env python3
"""`anedvd serve` as clients meet it: the program over real sockets, with the official SDKs where they are installed.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/http/acceptance_test.py

Runs on the tiny model of tests/data. What needs `openai` or `anthropic` (tests/requirements.txt) is skipped where they are not installed, and says so.
"""

import asyncio
import base64
import concurrent.futures
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import DATA, HI, PROGRAM, SECONDS, TINY, Server, chat_text, events

try:
    import openai
except ImportError:
    openai = None
try:
    import anthropic
except ImportError:
    anthropic = None


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--parallel", "8").ready()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()


class Raw(Shared):
    def test_get_routes_answer(self):
        for path in ("/health", "/v1/models", "/props", "/slots", "/metrics", f"/v1/models/{TINY}"):
            self.assertEqual(self.server.request("GET", path)[0], 200, path)

    def test_curl_without_a_content_type_is_told_what_to_type(self):
        status, body = self.server.post("/v1/chat/completions", {"messages": HI}, {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(status, 415)
        self.assertIn("-H 'Content-Type: application/json'", body["error"]["message"])

    def test_greedy_text_is_the_same_streamed_or_not_alone_or_among_others_cached_or_not(self):
        ask = {"messages": HI, "temperature": 0, "max_tokens": 24}
        whole = self.server.post("/v1/chat/completions", ask)[1]["choices"][0]["message"]["content"]
        self.assertEqual(self.server.post("/v1/chat/completions", ask | {"cache_prompt": False})[1]["choices"][0]["message"]["content"], whole)
        self.assertEqual(chat_text(self.server.request("POST", "/v1/chat/completions", ask | {"stream": True})[2]), whole)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            texts = list(pool.map(lambda i: self.server.post("/v1/chat/completions", ask)[1]["choices"][0]["message"]["content"]
                                  if i % 2 else chat_text(self.server.request("POST", "/v1/chat/completions", ask | {"stream": True})[2]), range(12)))
        self.assertEqual(set(texts), {whole})

    def test_a_fixed_seed_gives_the_same_text_and_another_seed_another(self):
        def ask(seed):
            return self.server.post("/v1/completions", {"prompt": "the", "temperature": 1.2, "seed": seed, "max_tokens": 16})[1]["choices"][0]["text"]
        self.assertEqual(ask(42), ask(42))
        self.assertNotEqual(ask(42), ask(43))
        self.assertEqual(ask(0), ask(0))

    def test_the_same_prompt_counts_the_same_on_every_dialect(self):
        chat = self.server.post("/v1/chat/completions", {"messages": HI, "max_tokens": 1})[1]["usage"]["prompt_tokens"]
        usage = self.server.post("/v1/messages", {"messages": HI, "max_tokens": 1})[1]["usage"]
        self.assertEqual(usage["input_tokens"] + usage["cache_read_input_tokens"], chat)
        self.assertEqual(self.server.post("/v1/messages/count_tokens", {"messages": HI})[1]["input_tokens"], chat)
        self.assertEqual(self.server.post("/v1/responses", {"input": "hi there", "max_output_tokens": 1})[1]["usage"]["input_tokens"], chat)
        prompt = self.server.post("/apply-template", {"messages": HI})[1]["prompt"]
        self.assertEqual(len(self.server.post("/tokenize", {"content": prompt})[1]["tokens"]), chat)

    def test_max_tokens_without_a_stop_is_exact(self):
        body = self.server.post("/v1/completions", {"prompt": "the", "max_tokens": 9, "ignore_eos": True, "temperature": 0})[1]
        self.assertEqual(body["usage"]["completion_tokens"], 9)
        self.assertEqual(body["choices"][0]["finish_reason"], "length")

    def test_stop_strings_are_cut_wherever_tokens_end(self):
        whole = self.server.post("/v1/completions", {"prompt": "the", "max_tokens": 24, "temperature": 0, "ignore_eos": True})[1]["choices"][0]["text"]
        stop = whole[len(whole) // 2:len(whole) // 2 + 3]
        ask = {"prompt": "the", "max_tokens": 24, "temperature": 0, "ignore_eos": True, "stop": [stop]}
        cut = self.server.post("/v1/completions", ask)[1]["choices"][0]
        self.assertEqual(cut["text"], whole[:whole.index(stop)])
        self.assertEqual(cut["finish_reason"], "stop")
        streamed = "".join(json.loads(event)["choices"][0]["text"] for event in events(self.server.request("POST", "/v1/completions", ask | {"stream": True})[2])
                           if event != "[DONE]")
        self.assertEqual(streamed, cut["text"])

    def test_echo_scores_the_prompt_as_the_logits_say(self):
        body = self.server.post("/v1/completions", {"prompt": "the cat and", "echo": True, "logprobs": 1, "max_tokens": 0})[1]["choices"][0]
        values = body["logprobs"]["token_logprobs"]
        self.assertIsNone(values[0])
        self.assertTrue(all(value < 0 for value in values[1:]))
        self.assertEqual("".join(body["logprobs"]["tokens"]), body["text"])

    def test_a_banned_token_never_comes_and_a_forced_one_always(self):
        forced = self.server.post("/v1/completions", {"prompt": "the", "max_tokens": 4, "logit_bias": {"40": 100}, "logprobs": 0})[1]["choices"][0]
        self.assertEqual(len(set(forced["logprobs"]["tokens"])), 1)
        banned = self.server.post("/v1/completions", {"prompt": "the", "max_tokens": 1, "temperature": 0, "logprobs": 1})[1]["choices"][0]["logprobs"]["tokens"][0]
        token = self.server.post("/tokenize", {"content": banned})[1]["tokens"][0]
        other = self.server.post("/v1/completions", {"prompt": "the", "max_tokens": 1, "temperature": 0, "logprobs": 1, "logit_bias": {str(token): -100}})[1]
        self.assertNotEqual(other["choices"][0]["logprobs"]["tokens"][0], banned)

    def test_nested_brackets_get_400_and_the_next_request_is_served(self):
        for body in (b"[" * 200000, b'{"messages":' + b"[" * 100000, b'{"x":' + b'{"a":' * 100000):
            self.assertEqual(self.server.request("POST", "/v1/chat/completions", body)[0], 400)
        self.assertEqual(self.server.request("GET", "/health")[0], 200)

    def test_a_client_that_leaves_stops_the_work(self):
        for stream in (True, False):
            left = self.server.metric("requests_cancelled_total")
            body = json.dumps({"messages": HI, "max_tokens": 400, "stream": stream, "ignore_eos": True, "n": 4}).encode()
            connection = socket.create_connection(("127.0.0.1", self.server.port))
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            if stream:
                connection.recv(1000)
            connection.close()
            # Not only "nothing runs": it may not have begun.
            end = time.monotonic() + 10
            while (self.server.metric("requests_cancelled_total") == left or self.server.running() > 0) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(self.server.metric("requests_cancelled_total"), left + 1, stream)
            self.assertEqual(self.server.running(), 0, stream)

    def test_embeddings_have_length_one_in_the_order_of_the_input(self):
        status, body = self.server.post("/v1/embeddings", {"input": ["the cat", "a dog", "the cat"]})
        self.assertEqual(status, 200, body)
        vectors = [item["embedding"] for item in body["data"]]
        self.assertAlmostEqual(sum(value * value for value in vectors[0]), 1, places=4)
        self.assertEqual(vectors[0], vectors[2])
        self.assertNotEqual(vectors[0], vectors[1])
        packed = self.server.post("/v1/embeddings", {"input": "the cat", "encoding_format": "base64"})[1]["data"][0]["embedding"]
        data = base64.b64decode(packed)
        for one, other in zip(struct.unpack(f"<{len(data) // 4}f", data), vectors[0], strict=True):
            self.assertAlmostEqual(one, other, places=5)

    def test_gets_answer_while_all_places_work(self):
        stop = threading.Event()

        def work():
            while not stop.is_set():
                self.server.post("/v1/chat/completions", {"messages": HI, "max_tokens": 200, "ignore_eos": True})
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            times = []
            for _ in range(40):
                begin = time.monotonic()
                self.assertEqual(self.server.request("GET", "/health")[0], 200)
                times.append(time.monotonic() - begin)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        # 100 ms on an idle machine; this one may be building something beside.
        self.assertLess(sorted(times)[len(times) // 2], 0.5, times)

    def test_its_own_checks_find_nothing(self):
        run = subprocess.run([str(PROGRAM), "conform", self.server.url, "--json"], capture_output=True, timeout=SECONDS)
        checks = json.loads(run.stdout)["checks"]
        self.assertEqual([check for check in checks if not check["ok"]], [])
        self.assertEqual(run.returncode, 0)
        self.assertGreater(len(checks), 30)

    def test_its_own_checks_find_what_another_server_does_wrong(self):
        class Silly(http.server.BaseHTTPRequestHandler):
            timeout = 1  # seconds for a whole request

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"data": [{"id": "x"}]}')
            do_GET = do_POST = do_OPTIONS = answer

            def log_message(self, *words):
                pass
        silly = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silly)
        silly.daemon_threads = True
        threading.Thread(target=silly.serve_forever, daemon=True).start()
        self.addCleanup(silly.server_close)
        self.addCleanup(silly.shutdown)
        run = subprocess.run([str(PROGRAM), "conform", f"http://127.0.0.1:{silly.server_port}/v1", "--json"], capture_output=True, timeout=SECONDS)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertGreater(sum(not check["ok"] for check in json.loads(run.stdout)["checks"]), 20)

    def test_nothing_of_a_prompt_is_logged(self):
        self.server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "XYZZYSECRET"}], "max_tokens": 2})
        self.server.post("/v1/chat/completions", {"messages": [{"role": "XYZZYSECRET", "content": "x"}], "model": "XYZZYSECRET"})
        self.server.wait_for(rb"status=400")
        self.assertNotIn(b"XYZZYSECRET", self.server.log)

    def test_streams_with_random_disconnects_lose_and_mix_nothing(self):
        prompts = [f"{word} and" for word in ("the", "a", "it", "no", "we", "one", "two", "in")]
        want = {prompt: self.server.post("/v1/completions", {"prompt": prompt, "temperature": 0, "max_tokens": 20})[1]["choices"][0]["text"] for prompt in prompts}
        wrong = []

        def client(number):
            luck = random.Random(number)
            for _ in range(4):
                prompt = luck.choice(prompts)
                body = json.dumps({"prompt": prompt, "temperature": 0, "max_tokens": 20, "stream": True}).encode()
                if luck.random() < 0.3:
                    with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
                        connection.sendall(luck.choice([b"\x16\x03garbage", b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body]))
                    continue
                data = self.server.request("POST", "/v1/completions", body)[2]
                text = "".join(json.loads(event)["choices"][0]["text"] for event in events(data) if event != "[DONE]")
                if text != want[prompt]:
                    wrong.append((prompt, text))
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            list(pool.map(client, range(32)))
        self.assertEqual(wrong, [])


class Lifecycle(unittest.TestCase):
    def serve(self, *flags, **keywords) -> Server:
        server = Server(*flags, **keywords)
        self.addCleanup(server.kill)
        return server

    def test_18_a_taken_port_is_an_error_that_names_it(self):
        server = self.serve().ready()
        other = subprocess.run([str(PROGRAM), "serve", f"{TINY}.gguf", "--port", str(server.port)], cwd=DATA, capture_output=True, timeout=SECONDS)
        self.assertEqual(other.returncode, 1)
        self.assertRegex(other.stderr.decode(), rf"^anedvd: --port {server.port}: in use on 127.0.0.1")

    def test_18_the_end_of_the_server_ends_a_stream_with_its_terminator(self):
        server = self.serve("--drain", "0.2").ready()
        body = json.dumps({"messages": HI, "max_tokens": 450, "stream": True, "ignore_eos": True, "n": 8}).encode()
        connection = socket.create_connection(("127.0.0.1", server.port))
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        heard = connection.recv(100)
        server.process.send_signal(signal.SIGINT)
        while chunk := connection.recv(65536):
            heard += chunk
        connection.close()
        self.assertTrue(heard.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"), heard[-200:])
        self.assertEqual(server.process.wait(SECONDS), 0)

    def test_sigterm_lets_a_running_answer_end(self):
        server = self.serve("--drain", "60").ready()
        results = []
        thread = threading.Thread(target=lambda: results.append(server.post("/v1/completions", {"prompt": "the", "max_tokens": 300, "ignore_eos": True})))
        thread.start()
        end = time.monotonic() + 30
        while server.running() == 0 and not results and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(server.stop(), 0)
        thread.join()
        self.assertEqual(results[0][1]["usage"]["completion_tokens"], 300)

    def test_the_network_needs_a_key(self):
        run = subprocess.run([str(PROGRAM), "serve", f"{TINY}.gguf", "--host", "0.0.0.0", "--port", "0"], cwd=DATA, capture_output=True, timeout=SECONDS)
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stderr.decode(), "anedvd: --host 0.0.0.0: everyone on the network could use the model; add --api-key SECRET, or --insecure if that is meant\n")

    def test_keys_come_from_flags_files_and_the_environment(self):
        server = self.serve("--api-key", "one", env={"ANEDVD_API_KEY": "two"}).ready()
        self.assertEqual(server.request("GET", "/v1/models")[0], 401)
        self.assertEqual(server.request("GET", "/health")[0], 200)
        for key in ("one", "two"):
            self.assertEqual(server.request("GET", "/v1/models", None, {"Authorization": f"Bearer {key}"})[0], 200)

    def test_a_broken_model_ends_the_server_with_one_line(self):
        run = subprocess.run([str(PROGRAM), "serve", f"{TINY}.greedy.json", "--port", "0"], cwd=DATA, capture_output=True, timeout=SECONDS)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr.decode().count("anedvd: "), 1, run.stderr)

    def test_flags_from_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("# a comment\napi-key = filekey\nparallel = 3\n")
            file.flush()
            server = self.serve("--config", file.name).ready()
        self.assertEqual(server.request("GET", "/v1/models")[0], 401)
        self.assertEqual(json.loads(server.request("GET", "/props", None, {"x-api-key": "filekey"})[2])["total_slots"], 3)

    def test_two_models_are_chosen_by_name(self):
        server = self.serve(models=(f"{TINY}.gguf", "tiny-llama-f32.gguf")).ready()
        self.assertEqual([model["id"] for model in json.loads(server.request("GET", "/v1/models")[2])["data"]], [TINY, "tiny-llama-f32"])
        for name in ("tiny-llama-f32", TINY):
            status, body = server.post("/v1/chat/completions", {"model": name, "messages": HI, "max_tokens": 2})
            self.assertEqual((status, body["model"]), (200, name), body)

    def test_no_queue_is_the_seeds_mode(self):
        server = self.serve("--no-queue").ready()
        body = json.dumps({"messages": HI, "max_tokens": 450, "stream": True, "ignore_eos": True}).encode()
        connection = socket.create_connection(("127.0.0.1", server.port))
        self.addCleanup(connection.close)
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.assertEqual(connection.recv(12), b"HTTP/1.1 200")
        status, headers, _ = server.request("POST", "/v1/chat/completions", {"messages": HI, "max_tokens": 1})
        self.assertEqual((status, headers.get("Retry-After")), (503, "1"))


@unittest.skipUnless(openai, "the package openai is not installed (tests/requirements.txt)")
class OpenAiSdk(Shared):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="any", max_retries=0, timeout=SECONDS)
        self.addCleanup(self.client.close)

    def test_chat(self):
        answer = self.client.chat.completions.create(model=TINY, messages=HI, max_tokens=8, n=2, logprobs=True, top_logprobs=2)
        self.assertEqual(len(answer.choices), 2)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        self.assertEqual(len(answer.choices[0].logprobs.content[0].top_logprobs), 2)

    def test_chat_stream(self):
        chunks = list(self.client.chat.completions.create(model=TINY, messages=HI, max_tokens=8, stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-1].choices, [])
        self.assertGreater(chunks[-1].usage.prompt_tokens, 0)

    def test_async_chat_stream(self):
        async def ask():
            async with openai.AsyncOpenAI(base_url=self.server.url + "/v1", api_key="any") as client:
                stream = await client.chat.completions.create(model=TINY, messages=HI, max_tokens=8, stream=True)
                return [chunk async for chunk in stream]
        self.assertIn(asyncio.run(ask())[-1].choices[0].finish_reason, ("stop", "length"))

    def test_completions(self):
        answer = self.client.completions.create(model=TINY, prompt=["the", "a"], max_tokens=3, logprobs=1, echo=True)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1])

    def test_responses(self):
        first = self.client.responses.create(model=TINY, input="hi there", max_output_tokens=8)
        self.assertEqual(first.object, "response")
        self.assertIsInstance(first.output_text, str)
        second = self.client.responses.create(model=TINY, input="again", previous_response_id=first.id, max_output_tokens=8)
        self.assertGreater(second.usage.input_tokens, first.usage.input_tokens)
        self.assertEqual(self.client.responses.retrieve(first.id).id, first.id)
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)

    def test_responses_stream(self):
        # The SDK takes only a completed answer for the end, so this one stops by itself.
        with self.client.responses.stream(model=TINY, input="hi there", max_output_tokens=60, extra_body={"stop": list(" aeiot.")}) as stream:
            types = [event.type for event in stream]
            final = stream.get_final_response()
        self.assertEqual(types[0], "response.created")
        self.assertEqual(final.status, "completed")

    def test_responses_cancel(self):
        stream = self.client.responses.create(model=TINY, input="hi there", max_output_tokens=450, stream=True, extra_body={"ignore_eos": True})
        running = next(iter(stream)).response
        cancelled = self.client.responses.cancel(running.id)
        self.assertIn(cancelled.status, ("cancelled", "incomplete"))  # a fast machine may have ended it
        self.assertIsInstance(cancelled.output_text, str)
        stream.close()

    def test_more_inputs_than_places_and_queue(self):
        answer = self.client.embeddings.create(model=TINY, input=["a"] * 600)
        self.assertEqual([one.index for one in answer.data], list(range(600)))

    def test_embeddings_in_the_sdks_own_base64(self):
        answer = self.client.embeddings.create(model=TINY, input=["the cat", "a dog"])
        self.assertEqual(len(answer.data[0].embedding), 128)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], [TINY])
        self.assertEqual(self.client.models.retrieve(TINY).owned_by, "anedvd")

    def test_errors_are_the_sdks_exceptions(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.chat.completions.create(model="gpt-9", messages=HI)
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model=TINY, messages=HI, temperature=-1, stream=True)
        self.assertEqual(caught.exception.param, "temperature")


@unittest.skipUnless(anthropic, "the package anthropic is not installed (tests/requirements.txt)")
class AnthropicSdk(Shared):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=self.server.url, api_key="any", max_retries=0, timeout=SECONDS)
        self.addCleanup(self.client.close)

    def test_messages(self):
        answer = self.client.messages.create(model="claude-x", max_tokens=8, system="S", messages=HI)
        self.assertEqual((answer.type, answer.role, answer.model), ("message", "assistant", "claude-x"))
        self.assertIn(answer.stop_reason, ("end_turn", "max_tokens"))

    def test_stream(self):
        with self.client.messages.stream(model="claude-x", max_tokens=8, messages=HI) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        self.assertEqual(message.content[0].text, text)
        self.assertGreater(message.usage.output_tokens, 0)

    def test_async_stream(self):
        async def ask():
            async with anthropic.AsyncAnthropic(base_url=self.server.url, api_key="any") as client:
                async with client.messages.stream(model="claude-x", max_tokens=8, messages=HI) as stream:
                    return await stream.get_final_message()
        self.assertEqual(asyncio.run(ask()).role, "assistant")

    def test_count_tokens_and_models(self):
        self.assertGreater(self.client.messages.count_tokens(model="claude-x", messages=HI).input_tokens, 0)
        self.assertEqual([model.id for model in self.client.models.list()], [TINY])

    def test_errors_are_the_sdks_exceptions(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(model="nobody", max_tokens=8, messages=HI)
        with self.assertRaises(anthropic.BadRequestError):
            self.client.messages.create(model="claude-x", max_tokens=8, messages=[{"role": "god", "content": "x"}])


# A folder in which `npm install openai @anthropic-ai/sdk` ran; scripts/test does not install JavaScript packages.
JAVASCRIPT = os.environ.get("ANEDVD_JAVASCRIPT")


@unittest.skipUnless(JAVASCRIPT and shutil.which("node"), "needs node, and ANEDVD_JAVASCRIPT: a folder with the packages openai and @anthropic-ai/sdk")
class JavaScriptSdks(Shared):
    def test_both(self):
        with tempfile.TemporaryDirectory(dir=JAVASCRIPT) as folder:
            script = shutil.copy(pathlib.Path(__file__).parent / "sdk.mjs", folder)
            run = subprocess.run(["node", script, self.server.url, TINY], capture_output=True, timeout=SECONDS)
        self.assertEqual(run.stdout, b"ok\n", run.stderr)


if __name__ == "__main__":
    unittest.main()
