#!/usr/bin/env python3
"""What the page keeps: branches, other tabs, files, and what it does when the server is away. Run like page_test.py."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_support import MISSING, PROGRAM, PageCase

if not MISSING:
    from page_support import Keys

CONTRAST = """
const parse = text => text.match(/[\\d.]+/g).map(Number), light = rgb => rgb.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = node => { for (; node; node = node.parentElement) { const rgb = parse(getComputedStyle(node).backgroundColor); if (rgb.length < 4 || rgb[3] > 0.99) return rgb; } return parse(getComputedStyle(document.body).backgroundColor); };
const bad = [];
for (const node of document.querySelectorAll('body *')) {
  if (!node.checkVisibility() || ![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
  const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) bad.push([node.tagName, node.textContent.slice(0, 30), ratio.toFixed(2)]);
}
return bad;
"""


class KeepingTest(PageCase):
    def test_32_by_keyboard_alone(self):
        server, page = self.scripted("first answer"), self.browser()
        page.open(server.url)
        page.type("one", Keys.ENTER)
        page.wait_answered()
        server.pieces = [part for i in range(100) for part in (f"w{i} ", 0.05)]
        reach = lambda name: page.js("const all = [...document.querySelectorAll('button')].filter(e => e.checkVisibility() && (e.getAttribute('aria-label') ?? e.textContent).trim() === arguments[0]); all.at(-1).focus(); return document.activeElement === all.at(-1) && all.at(-1).tabIndex >= 0", name)
        self.assertTrue(reach("Regenerate"))
        page.type(Keys.ENTER)
        page.until("return document.querySelector('article.answer')?.textContent.includes('w9')")
        page.type(Keys.ESCAPE)
        page.wait_answered()
        self.assertIn("w9", page.answers()[0])
        self.assertTrue(reach("Previous version"))
        page.type(Keys.ENTER)
        self.assertEqual(page.answers(), ["first answer"])
        server.pieces = ["edited answer"]
        self.assertEqual(page.js("return document.activeElement.getAttribute('aria-label')"), "Previous version")
        page.js("document.getElementById('box').focus()")
        page.type(Keys.ARROW_UP)
        self.assertEqual(page.js("return document.activeElement.getAttribute('aria-label')"), "Edit question")
        page.type(" more", Keys.TAB, Keys.ENTER)
        page.until("return [...document.querySelectorAll('article.answer > .body')].some(e => e.textContent === 'edited answer')")
        page.wait_answered()
        self.assertEqual(page.questions(), ["one more"])
        self.assertTrue(reach("Delete"))
        page.type(Keys.ENTER)
        self.assertEqual(page.answers(), [])
        self.assertTrue(reach("Undo"))
        page.type(Keys.ENTER)
        self.assertEqual(page.answers(), ["edited answer"])
        self.assertTrue(reach("Settings"))
        page.type(Keys.ENTER)
        page.named("Temperature", "#settings").send_keys("0.5", Keys.ESCAPE)
        self.assertEqual(page.js("return document.activeElement.id + settings.temperature"), "settings-open0.5")

    def test_35_light_and_dark_follow_the_system_with_contrast(self):
        server, page = self.scripted("# Title\n\nText with `code` and [a link](https://a.invalid).\n\n```py\nx = 1  # note\n```\n", finish="length"), self.browser()
        page.open(server.url)
        page.ask("hi")
        page.wait_answered()
        grounds = []
        for scheme in ("light", "dark"):
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            grounds.append(page.js("return getComputedStyle(document.body).backgroundColor"))
            with self.subTest(scheme):
                self.assertEqual(page.js(CONTRAST), [])
            page.click("Settings")
            with self.subTest(scheme + " settings"):
                self.assertEqual(page.js(CONTRAST), [])
            page.js("document.getElementById('settings').close()")
        self.assertEqual(grounds, ["rgb(250, 249, 246)", "rgb(23, 22, 19)"])

    def test_36_a_killed_server_is_told_and_retry_works_after_its_restart(self):
        server, page = self.real(), self.browser()
        page.open(server.url)
        page.ask("hi there")
        page.wait_answered(120)
        kept = page.answers()
        server.close()
        page.until("return document.body.innerText.includes('Can’t reach anedvd at')", seconds=10)
        page.ask("again")
        page.until("return [...document.querySelectorAll('button')].some(e => e.checkVisibility() && e.textContent === 'Retry')")
        self.assertEqual(page.answers()[0], kept[0])
        self.real(server.port)
        page.until("return !document.body.innerText.includes('Next try in')", seconds=40)
        page.click("Retry")
        page.wait_answered(120)
        self.assertEqual(page.questions(), ["hi there", "again"])
        self.assertEqual(page.answers()[0], kept[0])
        self.assertTrue(page.answers()[1])

    def test_37_regenerate_and_edit_keep_the_earlier_branch_through_a_reload(self):
        server, page = self.scripted("first"), self.browser()
        page.open(server.url)
        page.ask("one")
        page.wait_answered()
        for text in ("second", "third"):
            server.pieces = [text]
            page.click("Regenerate")
            page.until("return document.querySelector('article.answer > .body')?.textContent === arguments[0]", text)
            page.wait_answered()
        server.pieces = ["of the other question"]
        page.js("document.querySelector('article.you [aria-label=\"Edit\"]').click()")
        page.named("Edit question").send_keys(" two")
        page.click("Save and send")
        page.until("return document.querySelector('article.answer > .body')?.textContent === 'of the other question'")
        page.wait_answered()
        page.open(server.url)
        page.until("return document.querySelector('article.answer .bar')")
        self.assertEqual((page.questions(), page.answers()), (["one two"], ["of the other question"]))
        page.click("Previous version")
        self.assertEqual((page.questions(), page.answers()), (["one"], ["third"]))
        page.click("Previous version", "article.answer")
        self.assertEqual(page.answers(), ["second"])
        self.assertEqual(sorted(one["text"] for one in page.stored() if one["role"] == "assistant"), ["first", "of the other question", "second", "third"])

    def test_38_export_and_import_give_the_same_chats_once(self):
        server, page = self.scripted("an *answer*"), self.browser()
        page.open(server.url)
        page.ask("one")
        page.wait_answered()
        page.click("Regenerate")
        page.until("return document.querySelector('.count')?.textContent === '2/2'")
        page.wait_answered()
        page.click("New chat", "nav")
        page.ask("two")
        page.wait_answered()
        take = "const done = arguments[0]; chatFile().then(file => done(JSON.stringify(file)))"
        file = page.driver.execute_async_script(take)
        give = "const done = arguments[1]; importText(arguments[0]).then(() => done(document.getElementById('status').textContent))"
        other = self.browser()
        other.open(server.url)
        self.assertEqual(other.driver.execute_async_script(give, file), "2 imported")
        self.assertEqual(other.driver.execute_async_script(give, file), "0 imported, 2 already here")
        strip = lambda text: {**json.loads(text), "exported": ""}
        self.assertEqual(strip(other.driver.execute_async_script(take)), strip(file))
        for junk in ("", "[]", "{}", "null", "[" * 100000, '{"messages": 1}', '{"format": "anedvd-chats", "version": 9, "conversations": []}', '{"messages": [{"role": "user"}]}'):
            other.driver.execute_async_script(give, junk)
        self.assertEqual(strip(other.driver.execute_async_script(take)), strip(file))
        bare = '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}]}'
        self.assertEqual(other.driver.execute_async_script(give, bare), "1 imported")
        self.assertEqual(other.driver.execute_async_script(give, bare), "0 imported, 1 already here")
        circle = {"format": "anedvd-chats", "version": 1, "conversations": [{"id": "c", "messages": [{"id": "a", "parent": "b", "role": "user", "text": "x"}, {"id": "b", "parent": "a", "role": "user", "text": "y"}]}, {"messages": [{"role": "user"}]}]}
        self.assertEqual(other.driver.execute_async_script(give, json.dumps(circle)), "1 imported, 1 unreadable: message 1 has no text")

    def test_38_the_terminal_reads_what_the_page_writes(self):
        if not PROGRAM.exists():
            self.skipTest(f"{PROGRAM.name} is not built")
        server, page = self.scripted("an answer"), self.browser()
        page.open(server.url)
        page.ask("a question")
        page.wait_answered()
        page.click("Regenerate")
        page.until("return document.querySelector('.count')?.textContent === '2/2'")
        page.wait_answered()
        with tempfile.TemporaryDirectory() as folder:
            before, after = pathlib.Path(folder) / "page.json", pathlib.Path(folder) / "terminal.json"
            before.write_text(page.driver.execute_async_script("const done = arguments[0]; chatFile().then(file => done(JSON.stringify(file)))"))
            model = pathlib.Path(__file__).resolve().parent.parent / "data" / "tiny-llama-q4_1.gguf"
            subprocess.run([str(PROGRAM), "chat", str(model), "-t", "1"], input=f"/load {before}\n/save {after}\n", text=True, capture_output=True, check=True, timeout=120)
            got, sent = json.loads(after.read_text())["conversations"][0], json.loads(before.read_text())["conversations"][0]
            keys = ("id", "parent", "role", "text", "state")
            self.assertEqual([[one[key] for key in keys] for one in got["messages"]], [[one[key] for key in keys] for one in sent["messages"]])
            self.assertEqual((got["id"], got["leaf"], got["title"]), (sent["id"], sent["leaf"], sent["title"]))
            give = "const done = arguments[1]; importText(arguments[0]).then(() => done(document.getElementById('status').textContent))"
            self.assertEqual(page.driver.execute_async_script(give, after.read_text()), "0 imported, 1 already here")

    def test_39_two_tabs_that_write_at_once_lose_nothing(self):
        server, page = self.scripted("start"), self.browser()
        page.open(server.url)
        page.ask("zero")
        page.wait_answered()
        server.pieces = [part for i in range(10) for part in (f"w{i} ", 0.1)]
        page.ask_in_two_tabs(server.url)
        texts = sorted(one["text"] for one in page.stored())
        whole = "".join(f"w{i} " for i in range(10))
        self.assertEqual(texts, sorted(["zero", "start", "from the first", "from the second", whole, whole]))

    def test_40_over_plain_http_from_elsewhere(self):
        server = self.scripted("the answer")
        page = self.browser(1200, 800, "--host-resolver-rules=MAP lan.invalid 127.0.0.1")
        page.open(f"http://lan.invalid:{server.port}/")
        self.assertFalse(page.js("return isSecureContext"))
        page.ask("hi")
        page.wait_answered()
        page.click("Copy message", "article.answer")
        page.until("return document.getElementById('status').textContent === 'Copied'")
        page.open(f"http://lan.invalid:{server.port}/")
        page.until("return document.querySelector('article.answer .bar')")
        self.assertEqual(page.answers(), ["the answer"])


if __name__ == "__main__":
    unittest.main()
