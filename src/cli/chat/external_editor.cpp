#include "cli/chat/external_editor.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/words.h"
#include "cli/models/environment.h"
#include "cli/terminal/console.h"
#include "cli/terminal/input.h"

extern char** environ;

namespace anedvd {
namespace {

// A file that is gone with the object.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) {
    std::error_code error;
    name_ = (std::filesystem::temp_directory_path(error) / "anedvd-message-XXXXXX.txt").string();
    const int fd = mkstemps(name_.data(), 4);
    if (fd < 0) return;
    const auto written = write_all(fd, text);
    is_written_ = close(fd) == 0 && written;
  }
  ~ScratchFile() { unlink(name_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  bool is_written() const { return is_written_; }
  std::string& name() { return name_; }

 private:
  std::string name_;
  bool is_written_ = false;
};

}  // namespace

Result<std::string> edit_text(const std::string& text) {
  const Environment environment = process_environment();
  std::string editor = environment("VISUAL");
  if (editor.empty()) editor = environment("EDITOR");
  if (editor.empty()) editor = "vi";
  ScratchFile file(text);
  if (!file.is_written())
    return fail(ErrorCode::kIo, "/edit: {}: {}; set TMPDIR to a folder with room", visible(file.name()),
                std::strerror(errno));
  // The variable may hold words and quotes; the shell takes them apart, the file's name goes beside.
  std::string shell = "sh", option = "-c", command = editor + " \"$1\"";
  char* const words[] = {shell.data(), option.data(), command.data(), shell.data(), file.name().data(), nullptr};
  pid_t pid = 0;
  int status = 0;
  const int failure = posix_spawn(&pid, "/bin/sh", nullptr, nullptr, words, environ);
  if (failure != 0) return fail(ErrorCode::kIo, "/edit: {}; set EDITOR", std::strerror(failure));
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(ErrorCode::kIo, "/edit: {}: left with an error; nothing was sent, EDITOR names another",
                visible(editor, 60));
  ANEDVD_TRY(std::string edited, read_input(file.name()));
  if (edited.ends_with('\n')) edited.pop_back();
  return edited;
}

}  // namespace anedvd
