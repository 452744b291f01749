#!/usr/bin/env python3
"""The page on the program itself where page_test.py and page_keeping_test.py use a server that says what a test needs. Run like page_test.py.

Answers that a test must catch on their way come from the simulated Neural Engine and a program that is held most of the time.
"""

import json
import os
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_support import MISSING, PageCase

if not MISSING:
    from page_support import Keys

# Greedily: the same answer every time, and long enough.
SLOW = ("--device", "sim", "--temp", "0")
# axe-core's script (npm install axe-core); scripts/test does not install JavaScript packages.
AXE = os.environ.get("ANEDVD_AXE")


class RealTest(PageCase):
    def slow(self):
        server = self.real(0, *SLOW)
        server.slow_down()
        return server

    def answering(self, page):
        page.until("return (document.querySelector('article.answer > .body')?.textContent ?? '').length > 20", seconds=60)
        time.sleep(0.4)  # Stop is deaf at first: a double click on Send must not stop

    def test_22_and_23_stop_ends_the_servers_work_and_the_next_message_is_answered(self):
        server, page = self.slow(), self.browser()
        page.open(server.url)
        page.ask("tell me a long story")
        self.answering(page)
        page.click("Stop")
        self.assertTrue(self.soon(lambda: server.metric("requests_processing") == 0, 10), "the server goes on")  # 2 s where nothing else runs
        page.wait_answered()
        kept = page.answers()[0]
        self.assertGreater(len(kept), 20)
        self.assertIn("Stopped", page.js("return document.querySelector('article.answer .tags').textContent"))
        page.ask("and now?")
        page.wait_answered(120)
        self.assertEqual(page.questions(), ["tell me a long story", "and now?"])
        self.assertEqual(page.answers()[0], kept)
        self.assertTrue(page.answers()[1])

    def soon(self, is_so, seconds):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def test_23_a_message_in_the_moment_of_stop_is_answered(self):
        for server in (self.slow(), self.scripted(*(part for i in range(100) for part in (f"words {i} ", 0.05)))):
            with self.subTest(type(server).__name__):
                page = self.browser()
                page.open(server.url)
                page.ask("one")
                self.answering(page)
                page.js("""document.getElementById('stop').click(); const box = document.getElementById('box'); box.value = 'two';
                    for (let i = 0; i < 3; ++i) box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}))""")
                page.until("return document.querySelectorAll('article.you').length === 2", seconds=10)
                page.wait_answered(120)
                self.assertEqual(page.questions(), ["one", "two"])
                self.assertEqual(len(page.answers()), 2)
                self.assertEqual(page.js("return document.getElementById('box').value"), "")
                page.close()

    def test_23_two_messages_in_one_moment_lose_neither(self):
        server, page = self.scripted("an answer"), self.browser()
        page.open(server.url)
        page.js("const box = document.getElementById('box'); for (const text of ['first', 'second']) { box.value = text; send(); }")
        page.wait_answered()
        self.assertEqual((page.questions(), page.answers()), (["first"], ["an answer"]))
        self.assertEqual(page.js("return document.getElementById('box').value"), "second")

    def test_24_a_reload_in_mid_answer_keeps_it_and_the_draft(self):
        server, page = self.slow(), self.browser()
        page.open(server.url)
        page.ask("a question")
        self.answering(page)
        page.named("Message").send_keys("an unsent draft")
        seen = page.answers()[0]
        page.open(server.url)
        page.until("return document.querySelector('article.answer .tags')")
        self.assertTrue(page.answers()[0].startswith(seen[:10]))
        self.assertIn("The connection was lost", page.js("return document.querySelector('article.answer .tags').textContent"))
        self.assertEqual(page.named("Message").get_attribute("value"), "an unsent draft")
        page.click("Continue")
        page.wait_answered(120)
        self.assertTrue(page.answers()[0].startswith(seen[:10]))

    def test_25_a_preset_fills_fields_and_the_server_obeys(self):
        server, page = self.real(), self.browser()
        page.open(server.url)
        page.click("Settings")
        self.assertEqual(page.named("Temperature", "#settings").get_attribute("placeholder"), "1")  # the server's own
        page.click("Lively", "#settings")
        self.assertEqual([page.named(name, "#settings").get_attribute("value") for name in ("Temperature", "Top-p", "Repetition penalty")], ["0.9", "0.95", "1.1"])
        page.click("Exact", "#settings")
        self.assertEqual([page.named(name, "#settings").get_attribute("value") for name in ("Temperature", "Top-p", "Repetition penalty")], ["0", "", ""])
        page.named("Max tokens", "#settings").send_keys("12", Keys.ESCAPE)
        page.open(server.url)
        page.ask("hi there")
        page.wait_answered(120)
        page.click("Regenerate")
        page.until("return document.querySelector('.count')?.textContent === '2/2'")
        page.wait_answered(120)
        texts = [one["text"] for one in page.stored() if one["role"] == "assistant"]
        self.assertEqual(texts[0], texts[1])  # greedy
        page.click("Settings")
        page.click("Balanced", "#settings")
        self.assertEqual(page.named("Temperature", "#settings").get_attribute("value"), "")
        self.assertEqual(page.named("Max tokens", "#settings").get_attribute("value"), "12")

    def test_29_scrolling_up_holds_still_on_the_server_too(self):
        server, page = self.slow(), self.browser(500, 500)
        page.open(server.url)
        page.ask("word " * 120)
        self.answering(page)
        page.js("const log = document.getElementById('log'); log.dispatchEvent(new WheelEvent('wheel', {deltaY: -100})); log.scrollTop -= 200")
        time.sleep(0.2)
        before = page.js("return document.getElementById('log').scrollTop")
        page.wait_answered(120)
        self.assertLess(abs(page.js("return document.getElementById('log').scrollTop") - before), 60)

    def test_37_and_39_branches_and_tabs_on_the_server(self):
        server, page = self.real(), self.browser()
        page.open(server.url)
        page.ask("zero")
        page.wait_answered(120)
        page.ask_in_two_tabs(server.url, 120)
        stored = page.stored()
        self.assertEqual(sorted(one["text"] for one in stored if one["role"] == "user"), ["from the first", "from the second", "zero"])
        self.assertEqual(sum(one["role"] == "assistant" and bool(one["text"]) for one in stored), 3)

    def test_40_over_plain_http_from_another_name(self):
        server = self.real(0, "--allowed-hosts", "lan.invalid")
        page = self.browser(1200, 800, "--host-resolver-rules=MAP lan.invalid 127.0.0.1")
        address = server.url.replace("127.0.0.1", "lan.invalid")
        page.open(address)
        self.assertFalse(page.js("return isSecureContext"))
        page.ask("hi there")
        page.wait_answered(120)
        answer = page.answers()
        page.click("Copy message", "article.answer")
        page.until("return document.getElementById('status').textContent === 'Copied'")
        page.open(address)
        page.until("return document.querySelector('article.answer .bar')")
        self.assertEqual(page.answers(), answer)

    def test_localhost_and_its_address_are_one_place(self):
        server, page = self.real(), self.browser()
        page.open(server.url.replace("127.0.0.1", "localhost"))
        self.assertEqual(page.js("return location.href"), server.url)


class Formulas(PageCase):
    def shown(self, page, text: str):
        """Text as the page shows it, and the names of its MathML elements."""
        return page.js("""const box = document.createElement('div'); document.getElementById('log').append(box); const md = new Markdown(box);
            for (const piece of arguments[0].match(/[^]{1,3}/g)) md.write(piece);
            md.end(); const found = [box.textContent, [...box.querySelectorAll('math, math *')].map(e => e.localName).join(' '), [...box.querySelectorAll('math')].every(e => e.getBoundingClientRect().width > 1)]; box.remove(); return found""", text)

    def test_formulas_become_mathml_and_the_rest_stays(self):
        server, page = self.scripted(), self.browser()
        page.open(server.url)
        for source, text, names in [
                (r"\(x^2 + y_1\)", "x2+y1", "math msup mi mn mo msub mi mn"), (r"\[\frac{a}{b+1}\]", "ab+1", "math mfrac mi mrow mi mo mn"), (r"$$\sqrt[3]{x}$$", "x3", "math mroot mi mn"),
                (r"\(\alpha \leq \infty\)", "α≤∞", "math mi mo mi"), (r"\[\sum_{i=1}^{n} i\]", "∑i=1ni", "math munderover mo mrow mi mo mn mi mi"), (r"\(\sum_{i}^{n} i\)", "∑ini", "math msubsup mo mi mi mi"),
                (r"\(\text{if } 12.5 > x'\)", "if\u00a012.5>x′", "math mtext mn mo msup mi mo"), (r"\(\left( \frac12 \right)\)", "(12)", "math mrow mo mfrac mn mn mo"),
                (r"\[\begin{pmatrix} a & b \\ c & d \end{pmatrix}\]", "(abcd)", "math mrow mo mtable mtr mtd mi mtd mi mtr mtd mi mtd mi mo"), (r"\(\mathbb{R}\)", "ℝ", "math mi"),
                (r"\[E = mc^2\]" + "\n\nand **bold** after", "E=mc2and bold after", "math mi mo mi msup mi mn"), (r"\(a_{b_{c}}\)", "abc", "math msub mi msub mi mi")]:
            with self.subTest(source):
                self.assertEqual(self.shown(page, source), [text, names, True])
        for source in [r"\(\unknown{x}\)", r"\(x^\)", r"\(\frac{a}\)", r"\({\)", r"\[\begin{tikz} x \end{tikz}\]", r"\(" + "{" * 100 + "}" * 100 + r"\)", r"\(\href{javascript:alert(1)}{x}\)", r"\(\constructor\)", "$5 to $7 and x_1 * 2 * 3"]:
            with self.subTest(source[:40]):
                self.assertEqual(self.shown(page, source), [source, "", True])
        self.assertEqual(self.shown(page, r"`\(x\)` and \\(x\\)")[1], "")
        self.assertEqual(page.console(), [])


@unittest.skipUnless(AXE, "needs ANEDVD_AXE: axe.min.js of the npm package axe-core")
class Accessibility(PageCase):
    def test_axe_finds_nothing(self):
        server, page = self.scripted("# Title\n\nText with `code`, [a link](https://a.invalid) and \\(x^2\\).\n\n\\[\\sum_{i=1}^{n} i\\]\n\n```py\nx = 1  # note\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n- one\n- two\n", finish="length", usage={"prompt_tokens": 3900}), self.browser()
        server.reasoning = "a thought"
        page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        page.open(server.url)
        script = pathlib.Path(AXE).read_text()

        def found():
            page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script + ";undefined"})
            result = page.driver.execute_async_script("const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(done)")
            return [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in result["violations"]]
        for scheme in ("light", "dark"):
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            with self.subTest(scheme + " empty"):
                self.assertEqual(found(), [])
            page.ask("a question with `marks`")
            page.wait_answered()
            with self.subTest(scheme + " answer"):
                self.assertEqual(found(), [])
            page.click("Settings")
            with self.subTest(scheme + " settings"):
                self.assertEqual(found(), [])
            page.js("document.getElementById('settings').close()")
            page.js("document.querySelector('article.you [aria-label=\"Edit\"]').click()")
            with self.subTest(scheme + " edit"):
                self.assertEqual(found(), [])
            page.click("Cancel")
            page.click("New chat", "nav")


if __name__ == "__main__":
    unittest.main()
