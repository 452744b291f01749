// Files for /load: exports of the page, saved chats, bare messages.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/chat/chat_export.h"
#include "cli/chat/history_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto import = anedvd::import_chats(text, "x.json")) {
    for (const anedvd::ChatLog& log : import->chats) {
      // What was read can be written and read again.
      const auto again = anedvd::import_chats(anedvd::export_chat(log, 0), "again");
      if (!again || again->chats.size() != 1 || again->chats[0].messages.size() != log.messages.size() ||
          again->chats[0].branch.size() != log.branch.size())
        std::abort();
    }
  }
  (void)anedvd::parse_history(text, 10);
  return 0;
}
