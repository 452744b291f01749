// The page of "/": one HTML file, and the headers that let a browser run it and nothing else.
#pragma once

#include <string>
#include <string_view>

#include "api/exchange.h"

namespace anedvd {

// webui/index.html as it was when the program was built.
std::string_view built_in_page();

struct WebPage {
  std::string html;
  std::string etag;  // quoted, of the content
  std::string
      policy;  // Content-Security-Policy: the file's one <style> and one <script> by their SHA-256, its own server, no other
};

WebPage web_page(std::string html);

// 200 with the page, or 304 where If-None-Match names this content.
Answer page_answer(const WebPage& page, const Request& request);

}  // namespace anedvd
