// Host, Origin, keys, content types and CORS, §13 of the conformity sheet.
#include "api/gate.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

Request head(std::vector<Header> headers, const std::string& method = "POST") {
  Request request;
  request.method = method;
  request.target = "/v1/chat/completions";
  request.headers = std::move(headers);
  EXPECT_TRUE(split_target(request));
  return request;
}

int status(const Gate& gate, std::vector<Header> headers, bool needs_key = true, const std::string& method = "POST") {
  const auto error = gate.refusal(head(std::move(headers), method), needs_key);
  return error ? error->status : 200;
}

std::string value(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers)
    if (header.name == name) return header.value;
  return {};
}

TEST(Gate, OnlyLoopbackNamesAreHostsWithoutAKey) {
  const Gate gate({.keys = {}, .cors_origins = {}, .allowed_hosts = {"Box.Local"}});
  for (const char* host :
       {"localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "[::1]", "box.local:8080", "LOCALHOST:80"})
    EXPECT_EQ(status(gate, {{"host", host}}), 200) << host;
  for (const char* host : {"evil.com", "evil.com:8080", "127.0.0.1.evil.com", "localhost.evil.com", "", "[::2]"})
    EXPECT_EQ(status(gate, {{"host", host}}), 403) << host;
  const Gate keyed({.keys = {"k"}, .cors_origins = {}, .allowed_hosts = {}});
  EXPECT_EQ(status(keyed, {{"host", "my.server"}, {"x-api-key", "k"}}), 200);
}

TEST(Gate, OtherSitesMayNotAskForWork) {
  const Gate gate({});
  EXPECT_EQ(status(gate, {{"host", "localhost"}, {"origin", "https://evil.com"}}), 403);
  EXPECT_EQ(status(gate, {{"host", "localhost"}, {"origin", "null"}}), 403);
  EXPECT_EQ(status(gate, {{"host", "localhost"}, {"origin", "https://localhost.evil.com"}}), 403);
  for (const char* origin : {"http://localhost:3000", "http://127.0.0.1:8080", "http://[::1]:5", "tauri://localhost",
                             "vscode-webview://abc", "app://obsidian.md"})
    EXPECT_EQ(status(gate, {{"host", "localhost"}, {"origin", origin}}), 200) << origin;
  const Gate named({.keys = {}, .cors_origins = {"https://chat.example"}, .allowed_hosts = {}});
  EXPECT_EQ(status(named, {{"host", "localhost"}, {"origin", "https://chat.example"}}), 200);
  EXPECT_EQ(status(named, {{"host", "localhost"}, {"origin", "http://localhost:3000"}}), 403);
  // Its own page, wherever it is served.
  EXPECT_EQ(status(named, {{"host", "127.0.0.1:8080"}, {"origin", "http://127.0.0.1:8080"}}), 200);
}

TEST(Gate, KeysComeInThreeWays) {
  const Gate gate({.keys = {"one", "two"}, .cors_origins = {}, .allowed_hosts = {}});
  EXPECT_EQ(status(gate, {{"authorization", "Bearer one"}}), 200);
  EXPECT_EQ(status(gate, {{"authorization", "bearer  two "}}), 200);
  EXPECT_EQ(status(gate, {{"x-api-key", "two"}}), 200);
  EXPECT_EQ(status(gate, {{"cookie", "a=b; anedvd_key=one"}}), 200);
  for (const char* given : {"Bearer three", "Bearer", "Bearer ", "Basic one", "one", ""})
    EXPECT_EQ(status(gate, {{"authorization", given}}), 401) << given;
  EXPECT_EQ(status(gate, {}), 401);
  EXPECT_EQ(status(gate, {}, false), 200);
  EXPECT_EQ(status(Gate({}), {{"host", "localhost"}, {"authorization", "Bearer anything"}}), 200);
}

TEST(Gate, PreflightEchoesTheHeadersAskedFor) {
  const Gate gate({});
  const Answer answer = gate.preflight(head({{"origin", "http://localhost:3"},
                                             {"access-control-request-headers", "authorization,x-new"},
                                             {"access-control-request-private-network", "true"}},
                                            "OPTIONS"));
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(value(answer.headers, "Access-Control-Allow-Headers"), "authorization,x-new");
  EXPECT_EQ(value(answer.headers, "Access-Control-Allow-Methods"), "GET, POST, DELETE, OPTIONS");
  EXPECT_EQ(value(answer.headers, "Access-Control-Max-Age"), "86400");
  EXPECT_EQ(value(answer.headers, "Access-Control-Allow-Private-Network"), "true");
}

TEST(Gate, EveryAnswerCarriesTheOriginThatIsAllowed) {
  const auto echoed = Gate({}).cors_headers(head({{"origin", "http://localhost:3"}}));
  EXPECT_EQ(value(echoed, "Access-Control-Allow-Origin"), "http://localhost:3");
  EXPECT_EQ(value(echoed, "Vary"), "Origin");
  EXPECT_EQ(value(echoed, "Access-Control-Expose-Headers"), "x-request-id, request-id, retry-after");
  EXPECT_EQ(value(Gate({}).cors_headers(head({{"origin", "https://evil.com"}})), "Access-Control-Allow-Origin"), "");
  const auto any =
      Gate({.keys = {}, .cors_origins = {"*"}, .allowed_hosts = {}}).cors_headers(head({{"origin", "https://x.y"}}));
  EXPECT_EQ(value(any, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(value(any, "Access-Control-Allow-Credentials"), "");
}

TEST(Gate, FormsAreRefusedAndJsonTaken) {
  const auto refused = [](const char* type) { return content_refusal(head({{"content-type", type}})).has_value(); };
  for (const char* type : {"application/json", "application/json; charset=utf-8", "APPLICATION/JSON;charset=\"UTF-8\"",
                           "application/vnd.api+json", ""})
    EXPECT_FALSE(refused(type)) << type;
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                           "application/json; charset=latin1", "application/xml"})
    EXPECT_TRUE(refused(type)) << type;
  EXPECT_FALSE(content_refusal(head({})));
  EXPECT_TRUE(content_refusal(head({{"content-encoding", "gzip"}})));
  // curl's users see what to type.
  EXPECT_NE(content_refusal(head({{"content-type", "application/x-www-form-urlencoded"}}))
                ->message.find("-H 'Content-Type: application/json'"),
            std::string::npos);
}

TEST(Target, PathsAreDecodedAndTidied) {
  const auto path = [](const std::string& target) {
    Request request;
    request.target = target;
    return split_target(request) ? request.path + "|" + request.query : "refused";
  };
  EXPECT_EQ(path("/v1/models/org%2Fmodel%3Aq4?x=1"), "/v1/models/org/model:q4|x=1");
  EXPECT_EQ(path("//v1//models/"), "/v1/models|");
  EXPECT_EQ(path("http://host:1/health"), "/health|");
  EXPECT_EQ(path("/"), "/|");
  for (const char* bad : {"", "health", "/%", "/%4", "/%zz", "/%00"}) EXPECT_EQ(path(bad), "refused") << bad;
}

}  // namespace
}  // namespace anedvd
