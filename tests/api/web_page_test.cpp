#include "api/service/web_page.h"

#include "api/service_fixture.h"

namespace anedvd {
namespace {

constexpr std::string_view kHtml = "<html><style>a{}</style><script>let b = 1;</script></html>";

TEST(WebPage, NamesItsScriptAndItsStyleByTheirHashes) {
  const WebPage page = web_page(std::string(kHtml));
  // printf 'let b = 1;' | openssl dgst -sha256 -binary | base64
  EXPECT_NE(page.policy.find("script-src 'sha256-kG+Fiyptgda5SJXeEHyRa20pOM9Mha3N2EFGgvgBVlE='"), std::string::npos)
      << page.policy;
  EXPECT_NE(page.policy.find("style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='"), std::string::npos)
      << page.policy;
  EXPECT_NE(page.policy.find("default-src 'none'"), std::string::npos);
}

TEST(WebPage, IsSentOnceAndThenOnlyNamed) {
  const WebPage page = web_page(std::string(kHtml));
  EXPECT_EQ(page_answer(page, {}).status, 200);
  EXPECT_EQ(page_answer(page, {}).body, kHtml);
  Request known;
  known.headers = {{"if-none-match", page.etag}};
  EXPECT_EQ(page_answer(page, known).status, 304);
  EXPECT_EQ(page_answer(page, known).body, "");
  known.headers = {{"if-none-match", "\"other\""}};
  EXPECT_EQ(page_answer(page, known).status, 200);
}

TEST(WebPage, TheBuiltInOneIsSmallAndAsksNobodyElse) {
  const std::string_view html = built_in_page();
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_LT(html.size(), 160'000u);
  for (const std::string_view word :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " src=", "@import"})
    EXPECT_EQ(html.find(word), std::string_view::npos) << word;
}

}  // namespace
}  // namespace anedvd
