// What a terminal sends, and what is pasted: keys, the editor that takes them and the drawing of its text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/chat/input_view.h"
#include "cli/chat/key_decoder.h"
#include "cli/chat/line_editor.h"
#include "cli/chat/slash_commands.h"
#include "text/unicode.h"

namespace {

// Everything behind the decoder relies on well-formed text.
void check_text(std::string_view text, size_t cursor) {
  bool is_boundary = cursor == text.size();
  for (size_t at = 0; at < text.size();) {
    if (at == cursor) is_boundary = true;
    const uint32_t length = anedvd::utf8_length(text, at);
    if (length == 0) std::abort();
    at += length;
  }
  if (!is_boundary) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const anedvd::ScreenSize screen{1 + data[0] % 100, 1 + data[1] % 30};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  anedvd::KeyDecoder decoder;
  anedvd::LineEditor editor({}, {"first", "second\nline", "third"});
  anedvd::InputView view;
  std::vector<anedvd::Key> keys;
  for (size_t at = 0; at < bytes.size(); at += 7) {
    decoder.push(bytes.substr(at, 7), keys);
    for (const anedvd::Key& key : keys) {
      const auto event = editor.take(key, screen.columns);
      check_text(editor.text(), editor.cursor());
      (void)view.draw(editor.prompt(), editor.text(), editor.cursor(), screen);
      if (event != anedvd::EditEvent::kSubmit) continue;
      (void)anedvd::parse_chat_line(editor.message());
      (void)view.finish(editor.prompt(), editor.text(), screen);
      editor.start(editor.text());
    }
    keys.clear();
  }
  decoder.flush(keys);
  return 0;
}
