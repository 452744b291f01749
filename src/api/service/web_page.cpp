#include "api/service/web_page.h"

#include <span>

#include "base/base64.h"
#include "base/sha256.h"

namespace anedvd {

// Made by cmake/web_page.cmake from webui/index.html.
extern const char kWebPageBytes[];
extern const size_t kWebPageSize;

namespace {

std::string digest_of(std::string_view text) { return sha256_of(std::as_bytes(std::span(text.data(), text.size()))); }

// Between the first <NAME> and the </NAME> behind it; empty when there is none.
std::string_view element(std::string_view html, const std::string& name) {
  const std::string open = "<" + name + ">";
  size_t begin = html.find(open);
  if (begin == std::string_view::npos) return {};
  begin += open.size();
  const size_t end = html.find("</" + name + ">", begin);
  return end == std::string_view::npos ? std::string_view() : html.substr(begin, end - begin);
}

// As a policy names a text that may run: 'sha256-…'.
std::string hash_source(std::string_view text) {
  const std::string hex = digest_of(text);
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const auto digit = [&](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    bytes += char(digit(hex[i]) << 4 | digit(hex[i + 1]));
  }
  return "'sha256-" + base64_of(bytes) + "'";
}

}  // namespace

std::string_view built_in_page() { return {kWebPageBytes, kWebPageSize}; }

WebPage web_page(std::string html) {
  WebPage page;
  page.etag = "\"" + digest_of(html).substr(0, 32) + "\"";
  page.policy = "default-src 'none'; script-src " + hash_source(element(html, "script")) + "; style-src " +
                hash_source(element(html, "style")) +
                "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                "require-trusted-types-for 'script'; trusted-types 'none'";
  page.html = std::move(html);
  return page;
}

Answer page_answer(const WebPage& page, const Request& request) {
  Answer answer{200,
                {{"Content-Type", "text/html; charset=utf-8"},
                 {"Cache-Control", "no-cache"},
                 {"ETag", page.etag},
                 {"Referrer-Policy", "no-referrer"},
                 {"Content-Security-Policy", page.policy}},
                page.html};
  if (request.header("if-none-match").find(page.etag) != std::string_view::npos) {
    answer.status = 304;
    answer.body.clear();
  }
  return answer;
}

}  // namespace anedvd
