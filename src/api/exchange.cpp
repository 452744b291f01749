#include "api/exchange.h"

#include <array>
#include <mutex>
#include <random>

namespace anedvd {
namespace {

class WholeResponse : public Response {
 public:
  WholeResponse(Answer answer, std::string note) : answer_(std::move(answer)), note_(std::move(note)) {}

  void on_ready(std::function<void()>) override {}

  void advance(Outgoing& out) override {
    out.head = Head{answer_.status, std::move(answer_.headers), false};
    out.bytes = std::move(answer_.body);
    out.done = true;
  }

  void shut_down() override {}

  RequestRecord record() const override {
    RequestRecord record;
    record.note = note_;
    return record;
  }

 private:
  Answer answer_;
  std::string note_;
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool append_decoded(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
    out += char(high * 16 + low);
    i += 2;
  }
  return true;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers)
    if (header.name == name) return header.value;
  return {};
}

bool Request::has_header(std::string_view name) const {
  for (const Header& header : headers)
    if (header.name == name) return true;
  return false;
}

bool split_target(Request& request) {
  std::string_view target = request.target;
  // The absolute form that proxies send: http://host/path
  if (const size_t scheme = target.find("://"); scheme != std::string_view::npos && !target.starts_with('/')) {
    const size_t slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  request.query = mark == std::string_view::npos ? "" : std::string(target.substr(mark + 1));
  std::string decoded;
  if (!append_decoded(target.substr(0, mark), decoded)) return false;
  request.path.clear();
  for (const char c : decoded)
    if (c != '/' || request.path.empty() || request.path.back() != '/') request.path += c;
  if (request.path.size() > 1 && request.path.back() == '/') request.path.pop_back();
  return request.path.starts_with('/') || (request.path == "*" && request.method == "OPTIONS");
}

std::string random_id(std::string_view prefix, size_t length) {
  static constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  // Ids of responses are looked up by whoever knows them, so they come from the system's generator.
  thread_local std::random_device device;
  std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
  std::string id(prefix);
  for (size_t i = 0; i < length; ++i) id += kLetters[letter(device)];
  return id;
}

std::unique_ptr<Response> whole_response(Answer answer, std::string note) {
  return std::make_unique<WholeResponse>(std::move(answer), std::move(note));
}

}  // namespace anedvd
