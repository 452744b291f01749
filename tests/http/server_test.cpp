// The server over real sockets, with an application that a test scripts: limits, deadlines, keep-alive, leaving, draining.
#include "http/server.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace anedvd {
namespace {

using std::chrono::milliseconds;

// A client that says what it is told to.
class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    set_patience(20);
  }
  ~Client() { close(); }

  void set_patience(int seconds) {
    const timeval patience{seconds, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  Client& say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) break;
      bytes.remove_prefix(size_t(count));
    }
    return *this;
  }

  // Until `end` shows, or the connection ends.
  std::string hear(std::string_view end = {}) {
    while (end.empty() || heard_.find(end) == std::string::npos) {
      char bytes[4096];
      const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      heard_.append(bytes, size_t(count));
    }
    return std::exchange(heard_, {});
  }

  // The status of one whole response that has a Content-Length; the rest stays for the next call.
  int status() {
    while (true) {
      const size_t head = heard_.find("\r\n\r\n");
      if (head != std::string::npos) {
        const size_t at = heard_.find("Content-Length: ");
        const size_t length = at < head ? size_t(std::atoi(heard_.c_str() + at + 16)) : 0;
        if (heard_.size() >= head + 4 + length) {
          const int code = std::atoi(heard_.c_str() + 9);
          body = heard_.substr(head + 4, length);
          heard_.erase(0, head + 4 + length);
          return code;
        }
      }
      char bytes[4096];
      const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
      if (count <= 0) return 0;
      heard_.append(bytes, size_t(count));
    }
  }

  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  std::string body;

 private:
  int fd_;
  std::string heard_;
};

// Streams "tick\n" at every wake until it was told to end.
struct Ticking {
  std::mutex mutex;
  std::function<void()> wake;
  int ticks = 0;
  bool is_ended = false;
  std::atomic<bool> is_gone = false;
  std::string chunk = "tick\n";

  void tick() {
    const std::lock_guard lock(mutex);
    ++ticks;
    if (wake) wake();
  }
  void end() {
    const std::lock_guard lock(mutex);
    is_ended = true;
    if (wake) wake();
  }
};

class TickingResponse : public Response {
 public:
  TickingResponse(std::shared_ptr<Ticking> state, bool is_stream) : state_(std::move(state)), is_stream_(is_stream) {}
  ~TickingResponse() override {
    const std::lock_guard lock(state_->mutex);
    state_->wake = {};
    state_->is_gone = true;
  }
  void on_ready(std::function<void()> wake) override {
    const std::lock_guard lock(state_->mutex);
    state_->wake = std::move(wake);
  }
  void advance(Outgoing& out) override {
    const std::lock_guard lock(state_->mutex);
    if (is_stream_ && !std::exchange(has_head_, true)) out.head = Head{200, {}, true};
    if (is_stream_)
      for (; state_->ticks > 0; --state_->ticks) out.bytes += state_->chunk;
    out.done = state_->is_ended || is_cut_;
    if (is_cut_) out.bytes += "cut";
    if (!is_stream_ && out.done) {
      out.head = Head{is_cut_ ? 503 : 200, {}, false};
      out.bytes = "whole";
    }
  }
  std::string ping() override { return "ping\n"; }
  void shut_down() override { is_cut_ = true; }

 private:
  std::shared_ptr<Ticking> state_;
  const bool is_stream_;
  bool has_head_ = false, is_cut_ = false;
};

class TestApplication : public Application {
 public:
  std::optional<Answer> admit(const Request& head) override {
    if (head.path == "/refused") return Answer{404, {}, "no"};
    return std::nullopt;
  }
  void handle(std::shared_ptr<const Request> request, Done done) override {
    ++handled;
    if (request->path == "/stream" || request->path == "/wait")
      return done(std::make_unique<TickingResponse>(ticking, request->path == "/stream"));
    if (request->path == "/never") {
      const std::lock_guard lock(mutex);
      parked = std::move(done);
      return;
    }
    done(whole_response({200,
                         {{"X-Length", std::to_string(request->body.size())}},
                         request->path + " " + std::string(request->header("x-echo"))}));
  }
  Answer fault(const Request&, HttpFault fault) override {
    switch (fault) {
      case HttpFault::kUnknownCoding: return {501, {}, "fault"};
      case HttpFault::kTimeout: return {408, {}, "fault"};
      case HttpFault::kBodyTooLarge: return {413, {}, "fault"};
      case HttpFault::kUriTooLong: return {414, {}, "fault"};
      case HttpFault::kHeadersTooLarge: return {431, {}, "fault"};
      case HttpFault::kTooMany: return {429, {}, "fault"};
      case HttpFault::kFull: return {503, {}, "fault"};
      case HttpFault::kInternal: return {500, {}, "fault"};
      default: return {400, {}, "fault"};
    }
  }
  std::vector<Header> common_headers(const Request& head, int) override { return {{"x-request-id", head.id}}; }
  void finished(const Request&, int status, const RequestRecord&, double) override {
    const std::lock_guard lock(mutex);
    statuses.push_back(status);
  }

  int last_status() {
    const std::lock_guard lock(mutex);
    return statuses.empty() ? 0 : statuses.back();
  }

  std::shared_ptr<Ticking> ticking = std::make_shared<Ticking>();
  std::atomic<int> handled = 0;
  std::mutex mutex;
  std::vector<int> statuses;
  Done parked;
};

class HttpServer : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    auto listening = Server::listen(application_, options);
    ASSERT_TRUE(listening) << listening.error().message;
    server_ = std::move(*listening);
    port_ = server_->port();
    thread_ = std::thread([this] { server_->run({}); });
  }
  void TearDown() override { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    server_->stop();
    thread_.join();
    application_.parked = {};
  }

  // Waits for what another thread is about to do.
  static bool eventually(const std::function<bool()>& is_so) {
    for (int i = 0; i < 1000; ++i) {
      if (is_so()) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  // One request on a connection of its own: its status.
  int ask(std::string_view bytes) { return Client(port_).say(bytes).status(); }
  bool lives() { return ask("GET /x HTTP/1.1\r\nHost: a\r\n\r\n") == 200; }

  TestApplication application_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  int port_ = 0;
};

TEST_F(HttpServer, AnswersOneAfterTheOtherOnOneConnection) {
  start();
  Client client(port_);
  for (int i = 0; i < 3; ++i) {
    client.say("GET /a HTTP/1.1\r\nHost: x\r\nX-Echo: hey\r\n\r\n");
    EXPECT_EQ(client.status(), 200);
    EXPECT_EQ(client.body, "/a hey");
  }
}

TEST_F(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  start();
  Client client(port_);
  client.say(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /3 "
      "HTTP/1.1\r\nHost: a\r\n\r\n");
  for (const char* body : {"/1 ", "/2 ", "/3 "}) {
    EXPECT_EQ(client.status(), 200);
    EXPECT_EQ(client.body, body);
  }
}

TEST_F(HttpServer, BodiesByLengthAndInChunks) {
  start();
  EXPECT_NE(Client(port_)
                .say("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde")
                .hear()
                .find("X-Length: 5"),
            std::string::npos);
  EXPECT_NE(Client(port_)
                .say("POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: "
                     "close\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
                .hear()
                .find("X-Length: 7"),
            std::string::npos);
}

TEST_F(HttpServer, AnHonestBodyOfFourMegabytesWorks) {
  start();
  const std::string body(4 << 20, 'x');
  EXPECT_NE(Client(port_)
                .say(fmt::format("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                                 body.size()))
                .say(body)
                .hear()
                .find("X-Length: 4194304"),
            std::string::npos);
}

TEST_F(HttpServer, HeadIsGetWithoutTheBody) {
  start();
  const std::string heard = Client(port_).say("HEAD /abc HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").hear();
  EXPECT_NE(heard.find("Content-Length: 5"), std::string::npos) << heard;
  EXPECT_TRUE(heard.ends_with("\r\n\r\n"));
}

TEST_F(HttpServer, OldClientsAndConnectionClose) {
  start();
  const std::string old = Client(port_).say("GET /a HTTP/1.0\r\n\r\n").hear();
  EXPECT_TRUE(old.starts_with("HTTP/1.0 200")) << old;
  EXPECT_NE(
      Client(port_).say("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").hear().find("Connection: close"),
      std::string::npos);
}

TEST_F(HttpServer, ExpectContinueIsAnsweredBeforeTheBody) {
  start();
  Client client(port_);
  client.say("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.hear("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.say("abc");
  EXPECT_EQ(client.status(), 200);
}

struct Wrong {
  const char* what;
  std::string bytes;
  int status;
};

TEST_F(HttpServer, WrongBytesGetTheirStatusAndHarmNobody) {
  start({.max_body = 1000});
  const Wrong rows[] = {
      {"garbage", "\xff\xfe\x01garbage", 400},
      {"TLS hello", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), 400},
      {"NULs", std::string(100, '\0'), 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"long header", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(300000, 'a') + "\r\n\r\n", 431},
      {"many headers",
       "GET / HTTP/1.1\r\nHost: a\r\n" +
           [] {
             std::string all;
             for (int i = 0; i < 9000; ++i) all += "a: bcdef\r\n";
             return all;
           }() +
           "\r\n",
       431},
      {"long URI", "GET /" + std::string(200000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
      {"bad escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"negative length", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
      {"word for length", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400},
      {"two lengths", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
      {"length and chunks",
       "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"no host", "GET / HTTP/1.1\r\nX: a\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"length and chunks, in the other order",
       "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
      {"chunks for an old client", "POST /b HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"unknown coding", "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501},
      {"chunks inside", "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 501},
      {"chunks of something", "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"two codings",
       "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
      {"huge length", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n", 413},
      {"over the limit", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413},
      {"chunks over the limit",
       "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2000, 'a') + "\r\n",
       413},
      {"sixteen f", "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
      {"broken chunk size", "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"bad header", "GET / HTTP/1.1\r\nHost: a\r\nno colon here\r\n\r\n", 400},
  };
  for (const Wrong& row : rows) {
    EXPECT_EQ(ask(row.bytes), row.status) << row.what;
    EXPECT_TRUE(lives()) << row.what;
  }
  EXPECT_EQ(application_.handled, int(std::size(rows)));
}

// What follows a request whose end is in doubt is never taken for the next one.
TEST_F(HttpServer, NothingIsSmuggledBehindAnUnknownCoding) {
  start();
  for (const char* coding : {"identity", "chunked, gzip", "gzip, chunked", "xchunked"}) {
    const std::string heard =
        Client(port_)
            .say(fmt::format("POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {}\r\n\r\n", coding))
            .say("GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
            .hear();
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 501")) << heard;
    EXPECT_EQ(heard.find("smuggled"), std::string::npos) << heard;
  }
  EXPECT_EQ(application_.handled, 0);
}

TEST_F(HttpServer, WhoSendsAllOfALongBodyFirstStillHearsThatItIsTooLong) {
  start({.max_body = 1000});
  const std::string body(40 << 20, 'x');
  Client client(port_);
  client.say(fmt::format("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.size())).say(body);
  EXPECT_EQ(client.status(), 413);
}

TEST_F(HttpServer, OneConnectionTooManyHearsWhy) {
  start({.max_connections = 1});
  Client first(port_);
  first.say("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(first.status(), 200);
  Client second(port_);
  const std::string heard = second.hear();
  EXPECT_TRUE(heard.starts_with("HTTP/1.1 503")) << heard;
  EXPECT_TRUE(heard.ends_with("fault")) << heard;
  EXPECT_NE(heard.find("x-request-id: req_"), std::string::npos) << heard;
}

TEST_F(HttpServer, AllBodiesTogetherAreBounded) {
  start({.max_body = 1000000, .max_bodies = 1000});
  // Looked at before each read, of 64 kB at most.
  EXPECT_EQ(ask("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n" + std::string(500000, 'a')), 429);
  EXPECT_EQ(ask("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n" + std::string(900, 'a')),
            200);  // given back
}

TEST_F(HttpServer, HalfABodyThenCloseIsForgotten) {
  start();
  Client(port_).say("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc").close();
  EXPECT_TRUE(lives());
  EXPECT_TRUE(eventually([&] { return server_->active() == 0; }));
}

TEST_F(HttpServer, RefusedBodiesAreNotReadAndSmallOnesDoNotEndTheConnection) {
  start();
  Client client(port_);
  client.say("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.status(), 404);
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(ask("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n"), 404);
  EXPECT_EQ(ask("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"), 404);
}

TEST_F(HttpServer, SilentClientsAreTold408) {
  start({.head_seconds = 0.3, .body_seconds = 0.3});
  EXPECT_EQ(ask("GET /a HT"), 408);
  EXPECT_EQ(ask("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"), 408);
}

TEST_F(HttpServer, AByteNowAndThenIsNoWayToStay) {
  start({.body_seconds = 0.4});
  Client client(port_);
  client.say("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  for (int i = 0; i < 8; ++i) {
    client.say("x");
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(client.status(), 408);
}

TEST_F(HttpServer, FortyHalfOpenConnectionsStarveNobody) {
  start();
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<Client>(port_));
    slow.back()->say("POST /b HTTP/1.1\r\nHost: a\r\nContent-Le");
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(lives());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
}

TEST_F(HttpServer, StreamsAreChunkedAndTheConnectionGoesOn) {
  start();
  Client client(port_);
  client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(client.hear("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  application_.ticking->tick();
  EXPECT_EQ(client.hear("tick\n\r\n"), "5\r\ntick\n\r\n");
  application_.ticking->end();
  EXPECT_EQ(client.hear("0\r\n\r\n"), "0\r\n\r\n");
  client.say("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.status(), 200);
}

TEST_F(HttpServer, OldClientsGetAStreamThatTheEndOfTheConnectionEnds) {
  start();
  application_.ticking->ticks = 2;
  application_.ticking->is_ended = true;
  const std::string heard = Client(port_).say("GET /stream HTTP/1.0\r\n\r\n").hear();
  EXPECT_TRUE(heard.ends_with("\r\n\r\ntick\ntick\n")) << heard;
}

TEST_F(HttpServer, SilenceInAStreamIsFilled) {
  start({.ping_seconds = 0.1});
  Client client(port_);
  client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(client.hear("ping\n").find("ping\n"), std::string::npos);
}

TEST_F(HttpServer, LeavingEndsAStreamAndAWaitAndTheQueue) {
  start();
  for (const char* path : {"/stream", "/wait"}) {
    application_.ticking = std::make_shared<Ticking>();
    Client client(port_);
    client.say(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path));
    ASSERT_TRUE(eventually([&] { return application_.ticking.use_count() > 1; }));
    client.close();
    EXPECT_TRUE(eventually([&] { return application_.ticking->is_gone.load(); })) << path;
    EXPECT_TRUE(eventually([&] { return application_.last_status() == 499; }));
  }
  // Before the application has answered at all.
  Client client(port_);
  client.say("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server_->active() == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return server_->active() == 0; }));
}

TEST_F(HttpServer, AHalfClosedClientHasLeftTheStream) {
  start();
  Client client(port_);
  client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  client.hear("\r\n\r\n");
  client.half_close();
  EXPECT_TRUE(eventually([&] { return application_.ticking->is_gone.load(); }));
}

TEST_F(HttpServer, AReaderThatReadsNothingIsLeftAlone) {
  start({.write_seconds = 0.3});
  application_.ticking->chunk.assign(1 << 20, 'x');
  application_.ticking->ticks = 64;
  Client client(port_);
  client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(lives());
  EXPECT_TRUE(eventually([&] { return application_.ticking->is_gone.load(); }));
}

TEST_F(HttpServer, DrainingLetsAnswersEndAndTakesNoNewConnection) {
  start({.drain_seconds = 20});
  Client client(port_);
  client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  client.hear("\r\n\r\n");
  Client idle(port_);
  server_->stop();
  EXPECT_EQ(idle.hear(), "");
  application_.ticking->tick();
  client.hear("tick\n");
  application_.ticking->end();
  EXPECT_NE(client.hear().find("0\r\n\r\n"), std::string::npos);
  thread_.join();
}

TEST_F(HttpServer, TheEndOfTheDrainCutsWithATerminator) {
  start({.drain_seconds = 0.1});
  Client client(port_);
  client.say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  client.hear("\r\n\r\n");
  server_->stop();
  EXPECT_TRUE(client.hear().ends_with("3\r\ncut\r\n0\r\n\r\n"));
  thread_.join();
}

TEST_F(HttpServer, RequestIdsAreEchoedIfHarmless) {
  start();
  EXPECT_NE(Client(port_)
                .say("GET /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: my-id.1\r\nConnection: close\r\n\r\n")
                .hear()
                .find("x-request-id: my-id.1\r\n"),
            std::string::npos);
  EXPECT_NE(Client(port_)
                .say("GET /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: a b\r\nConnection: close\r\n\r\n")
                .hear()
                .find("x-request-id: req_"),
            std::string::npos);
}

TEST_F(HttpServer, ATakenPortIsAnErrorThatNamesIt) {
  start();
  ServerOptions same;
  same.port = port_;
  const auto second = Server::listen(application_, same);
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().message.starts_with(fmt::format("--port {}: in use on 127.0.0.1", port_)))
      << second.error().message;
}

TEST(HttpAddress, AnAddressThatIsNoneIsRefused) {
  TestApplication application;
  ServerOptions options;
  options.host = "203.0.113.9";
  options.port = 0;
  const auto server = Server::listen(application, options);
  ASSERT_FALSE(server);
  EXPECT_TRUE(server.error().message.starts_with("--host 203.0.113.9: ")) << server.error().message;
}

}  // namespace
}  // namespace anedvd
