#include "http/server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/ascii.h"
#include "base/log.h"
#include "base/words.h"
#include "http/connection.h"
#include "http/request_head.h"

namespace anedvd {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Parser = beast::http::request_parser<beast::http::string_body>;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr size_t kHeadRead = 8 << 10, kBodyRead = 64 << 10;
constexpr size_t kAheadBytes = 64 << 10;    // of further requests, read while one is answered
constexpr size_t kDiscardBytes = 64 << 10;  // a refused body so small is read, so that the connection can go on
constexpr size_t kSlowestBody = 16 << 10;   // bytes a second, averaged
constexpr auto kLingerSilence = std::chrono::seconds(2), kLongestLinger = std::chrono::seconds(15);

Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& io, tcp::socket socket, ServerState& state)
      : io_(io), socket_(std::move(socket)), deadline_(io), wakeup_(io), state_(state) {
    ++state_.connections;
    listener_ = [this] {
      if (idle_) cancel_io();
      poke();
    };
    listener_at_ = state_.listeners.insert(state_.listeners.end(), &listener_);
  }

  ~Connection() {
    state_.listeners.erase(listener_at_);
    --state_.connections;
  }

  asio::awaitable<void> run() {
    while (co_await serve_one()) {}
    co_await linger();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  enum class Read { kMore, kEnd, kTimeout };

  // ---- bytes in and out, each with its deadline ----

  void cancel_io() {
    error_code ignored;
    socket_.cancel(ignored);
  }

  // From now until disarm(), the socket's operations end when `after` has passed.
  void arm(Clock::duration after) {
    timed_out_ = false;
    deadline_.expires_after(after);
    deadline_.async_wait([self = weak_from_this(), armed = ++armed_](error_code error) {
      const auto connection = self.lock();
      if (error || !connection || connection->armed_ != armed) return;
      connection->timed_out_ = true;
      connection->cancel_io();
    });
  }

  void disarm() {
    ++armed_;
    deadline_.cancel();
  }

  asio::awaitable<Read> read_some(Clock::duration within, size_t bytes = kHeadRead) {
    if (within <= Clock::duration::zero()) co_return Read::kTimeout;
    arm(within);
    const auto [error, count] = co_await socket_.async_read_some(buffer_.prepare(bytes), kToken);
    disarm();
    if (!error) {
      buffer_.commit(count);
      co_return Read::kMore;
    }
    co_return timed_out_ ? Read::kTimeout : Read::kEnd;
  }

  // False: the client is gone, or takes nothing any more.
  asio::awaitable<bool> write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      arm(seconds(state_.options.write_seconds));
      const auto [error, count] = co_await socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kToken);
      disarm();
      if (error) co_return false;
      bytes.remove_prefix(count);
    }
    co_return true;
  }

  // Lets the last answer arrive: closing with unread bytes in the socket would reset the connection and lose it.
  asio::awaitable<void> linger() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    if (!linger_) co_return;
    // Many clients send all of a body before they look for an answer, however long it is.
    const auto end = Clock::now() + kLongestLinger;
    while (!state_.is_draining) {
      buffer_.clear();
      const auto left = std::min<Clock::duration>(kLingerSilence, end - Clock::now());
      if (co_await read_some(left, kBodyRead) != Read::kMore) co_return;
    }
  }

  // ---- waiting for a response ----

  void poke() {
    poked_ = true;
    wakeup_.cancel();
  }

  // True: somebody poked; false: `until` has come.
  asio::awaitable<bool> wait(Clock::time_point until) {
    if (!poked_) {
      wakeup_.expires_at(until);
      co_await wakeup_.async_wait(kToken);
    }
    co_return std::exchange(poked_, false);
  }

  // Reads on while a response is under way: bytes are the next request, an end is the client's leaving.
  void watch() {
    if (watching_ || gone_ || unwatch_ || buffer_.size() >= kAheadBytes) return;
    watching_ = true;
    socket_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](error_code error, size_t count) {
      self->watching_ = false;
      if (!error) {
        self->buffer_.commit(count);
        self->watch();
        return;
      }
      if (error != asio::error::operation_aborted) self->gone_ = true;
      self->poke();
    });
  }

  asio::awaitable<void> stop_watching() {
    unwatch_ = true;
    while (watching_) {
      cancel_io();
      co_await wait(Clock::now() + std::chrono::milliseconds(50));
    }
    unwatch_ = false;
  }

  // ---- one request ----

  std::vector<Header> common(const Request& request, int status) {
    return state_.application->common_headers(request, status);
  }

  asio::awaitable<bool> send(const Request& request, Answer answer, int version, bool keep_alive) {
    const Head head{answer.status, std::move(answer.headers), false};
    std::string bytes =
        head_bytes(head, common(request, answer.status), version, keep_alive, int64_t(answer.body.size()));
    if (request.method != "HEAD") bytes += answer.body;
    co_return co_await write_all(bytes) && keep_alive;
  }

  // An answer after which the connection ends, because nobody knows where the next request would begin.
  asio::awaitable<bool> send_fault(const Request& request, HttpFault fault) {
    linger_ = true;
    Answer answer = state_.application->fault(request, fault);
    const int status = answer.status;
    co_await send(request, std::move(answer), 11, false);
    state_.application->finished(request, status, {}, 0);
    co_return false;
  }

  // The rest of the head, whose first bytes are in the buffer. nullopt: answered or gone.
  asio::awaitable<std::optional<HttpFault>> read_head(Parser& parser, Clock::time_point end, bool& is_gone) {
    const ServerOptions& options = state_.options;
    parser.header_limit(
        uint32_t(std::min<size_t>(options.max_uri + options.max_header + 1024, std::numeric_limits<uint32_t>::max())));
    parser.body_limit(boost::none);
    size_t consumed = 0;  // the parser takes the first line before the others are there
    while (true) {
      const std::string_view seen(static_cast<const char*>(buffer_.data().data()), buffer_.size());
      if (!seen.empty()) {
        if (const auto fault = hopeless_start(seen, options.max_uri); fault && consumed == 0) co_return fault;
        error_code error;
        const size_t used = parser.put(buffer_.data(), error);
        buffer_.consume(used);
        consumed += used;
        if (parser.is_header_done()) co_return std::nullopt;
        if (error == beast::http::error::header_limit) co_return HttpFault::kHeadersTooLarge;
        if (error && error != beast::http::error::need_more) co_return HttpFault::kBadRequest;
      }
      const Read read = co_await read_some(end - Clock::now());
      if (read == Read::kTimeout) co_return HttpFault::kTimeout;
      if (read == Read::kEnd) {
        is_gone = true;
        co_return std::nullopt;
      }
    }
  }

  // Reads the body into the parser. `counted` grows with what is held for it.
  asio::awaitable<std::optional<HttpFault>> read_body(Parser& parser, size_t limit, size_t& counted, bool& is_gone) {
    const auto start = Clock::now();
    parser.body_limit(limit);
    parser.eager(true);
    while (!parser.is_done()) {
      if (buffer_.size() > 0) {
        error_code error;
        const size_t used = parser.put(buffer_.data(), error);
        buffer_.consume(used);
        if (error == beast::http::error::body_limit) co_return HttpFault::kBodyTooLarge;
        if (error && error != beast::http::error::need_more) co_return HttpFault::kBadRequest;
        if (parser.is_done() || used > 0) continue;
      }
      if (state_.body_bytes > state_.options.max_bodies) co_return HttpFault::kTooMany;
      const auto whole = seconds(state_.options.body_seconds + double(counted) / double(kSlowestBody));
      const auto left = start + whole - Clock::now();
      const size_t before = buffer_.size();
      const Read read = co_await read_some(std::min(left, seconds(state_.options.body_seconds)), kBodyRead);
      if (read == Read::kTimeout) co_return HttpFault::kTimeout;
      if (read == Read::kEnd) {
        is_gone = true;
        co_return std::nullopt;
      }
      counted += buffer_.size() - before;
      state_.body_bytes += buffer_.size() - before;
    }
    co_return std::nullopt;
  }

  // Returns whether another request may follow on this connection.
  asio::awaitable<bool> serve_one() {
    while (buffer_.size() > 0 && is_line_end(*static_cast<const char*>(buffer_.data().data()))) buffer_.consume(1);
    if (buffer_.size() == 0) {
      if (state_.is_draining) co_return false;
      idle_ = true;
      const Read read = co_await read_some(seconds(state_.options.idle_seconds));
      idle_ = false;
      co_return read == Read::kMore;  // around again: the line ends before a request are skipped
    }
    const auto start = Clock::now();
    Parser parser;
    Request request;
    request.id = random_id("req_");
    request.loopback_socket = state_.is_loopback;
    request.loopback_v4 = state_.is_loopback_v4;
    bool is_gone = false;
    auto fault = co_await read_head(parser, start + seconds(state_.options.head_seconds), is_gone);
    if (is_gone) co_return false;
    if (!fault) fault = take_head(parser, request);
    if (fault) co_return co_await send_fault(request, *fault);
    request.received = Clock::now();

    const int version = int(parser.get().version());
    bool keep_alive = parser.keep_alive() && !state_.is_draining;
    std::optional<Answer> refused = state_.application->admit(request);
    const uint64_t length = parser.content_length().value_or(0);
    const bool has_body = length > 0 || parser.chunked();
    if (!refused && length > state_.options.max_body) co_return co_await send_fault(request, HttpFault::kBodyTooLarge);
    if (refused && has_body && (parser.chunked() || length > kDiscardBytes || request.has_header("expect"))) {
      keep_alive = false;
      linger_ = true;
    }
    size_t counted = 0;
    if (has_body && (!refused || keep_alive)) {
      if (request.has_header("expect") && version >= 11 && buffer_.size() == 0)
        if (!co_await write_all("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
      fault = co_await read_body(parser, state_.options.max_body, counted, is_gone);
      state_.body_bytes -= counted;
      if (is_gone) co_return false;
      if (fault) co_return co_await send_fault(request, *fault);
    }
    if (refused) {
      const int status = refused->status;
      const bool go_on = co_await send(request, std::move(*refused), version, keep_alive);
      state_.application->finished(request, status, {}, std::chrono::duration<double>(Clock::now() - start).count());
      co_return go_on;
    }
    request.body = std::move(parser.get().body());
    co_return co_await respond(std::make_shared<Request>(std::move(request)), version, keep_alive, start);
  }

  static std::optional<HttpFault> take_head(Parser& parser, Request& request, const ServerOptions& options) {
    size_t bytes = 0;
    const auto& message = parser.get();
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    if (request.target.size() > options.max_uri) return HttpFault::kUriTooLong;
    for (const auto& field : message) {
      request.headers.push_back({lower_ascii({field.name_string().data(), field.name_string().size()}),
                                 std::string(field.value().data(), field.value().size())});
      bytes += field.name_string().size() + field.value().size() + 4;
    }
    if (bytes > options.max_header) return HttpFault::kHeadersTooLarge;
    if (const std::string_view id = request.header("x-request-id"); is_harmless_id(id)) request.id = std::string(id);
    if (!split_target(request)) return HttpFault::kBadTarget;
    return framing_fault(request, int(message.version()));
  }
  std::optional<HttpFault> take_head(Parser& parser, Request& request) {
    return take_head(parser, request, state_.options);
  }

  // Hands the request over and carries the response out.
  asio::awaitable<bool> respond(std::shared_ptr<Request> request, int version, bool keep_alive,
                                Clock::time_point start) {
    const size_t held = request->body.size();
    state_.body_bytes += held;
    ++state_.active;
    poked_ = false;
    watch();
    std::unique_ptr<Response> response;
    hand_over(request);
    while (!arrived_ && !gone_ && !state_.is_cut) co_await wait(Clock::now() + std::chrono::hours(1));
    response = std::move(arrived_);
    ++expected_;  // one that comes later is not wanted any more
    int status = 499;
    if (response) status = co_await carry(*request, *response, version, keep_alive);
    co_await stop_watching();
    state_.application->finished(*request, status, response ? response->record() : RequestRecord{},
                                 std::chrono::duration<double>(Clock::now() - start).count());
    response.reset();
    state_.body_bytes -= held;
    --state_.active;
    if (buffer_.size() == 0) buffer_.shrink_to_fit();
    co_return status != 499 && keep_alive && !gone_ && !state_.is_draining;
  }

  void hand_over(std::shared_ptr<const Request> request) {
    auto done = [self = shared_from_this(), mine = expected_](std::unique_ptr<Response> response) {
      asio::post(self->io_, [self, mine, response = std::move(response)]() mutable {
        if (self->expected_ != mine) return;  // the client left meanwhile
        self->arrived_ = std::move(response);
        self->poke();
      });
    };
    state_.application->handle(std::move(request), std::move(done));
  }

  std::function<void()> waker() {
    return [self = weak_from_this(), &io = io_, is_posted = std::make_shared<std::atomic<bool>>(false)] {
      if (is_posted->exchange(true)) return;
      asio::post(io, [self, is_posted] {
        is_posted->store(false);
        if (const auto connection = self.lock()) connection->poke();
      });
    };
  }

  // Returns the status that was sent; 499 when the client left before the end.
  asio::awaitable<int> carry(const Request& request, Response& response, int version, bool& keep_alive) {
    const bool is_head = request.method == "HEAD";
    const Clock::duration ping_after = seconds(state_.options.ping_seconds);
    Clock::time_point last = Clock::now();
    bool is_stream = false, is_cut = false;
    int status = 499;
    response.on_ready(waker());
    while (true) {
      if (state_.is_cut && !std::exchange(is_cut, true)) response.shut_down();
      Outgoing out;
      response.advance(out);
      if (gone_ && !out.done) co_return 499;
      std::string wire;
      if (out.head) {
        status = out.head->status;
        is_stream = out.head->is_stream;
        if (state_.is_draining || (is_stream && version < 11)) keep_alive = false;
        wire = head_bytes(*out.head, common(request, status), version, keep_alive,
                          is_stream ? -1 : int64_t(out.bytes.size()));
      }
      append_body(wire, out.bytes, is_stream && version >= 11, is_head);
      if (out.done && is_stream && version >= 11 && !is_head) wire += "0\r\n\r\n";
      if (!wire.empty()) {
        if (!co_await write_all(wire)) co_return 499;
        last = Clock::now();
      }
      if (out.done) co_return status;
      if (!wire.empty()) continue;

      Clock::time_point until = is_stream ? last + ping_after : Clock::now() + std::chrono::hours(1);
      if (out.again_after) until = std::min(until, Clock::now() + *out.again_after);
      if (co_await wait(until)) continue;
      if (!is_stream || Clock::now() < last + ping_after) continue;
      wire.clear();
      append_body(wire, response.ping(), version >= 11, false);
      if (!co_await write_all(wire)) co_return 499;
      last = Clock::now();
    }
  }

  static void append_body(std::string& wire, const std::string& bytes, bool chunked, bool is_head) {
    if (bytes.empty() || is_head) return;
    wire += chunked ? chunk_bytes(bytes) : bytes;
  }

  asio::io_context& io_;
  tcp::socket socket_;
  asio::steady_timer deadline_, wakeup_;
  ServerState& state_;
  std::function<void()> listener_;
  std::list<std::function<void()>*>::iterator listener_at_;
  beast::flat_buffer buffer_;
  std::unique_ptr<Response> arrived_;
  uint64_t armed_ = 0, expected_ = 0;
  bool timed_out_ = false, idle_ = false, poked_ = false, watching_ = false, unwatch_ = false, gone_ = false,
       linger_ = false;
};

class SocketServer : public Server {
 public:
  SocketServer(Application& application, const ServerOptions& options)
      : io_(1), acceptor_(io_), signals_(io_), drain_timer_(io_) {
    state_.application = &application;
    state_.options = options;
  }

  Result<> open() {
    const ServerOptions& options = state_.options;
    error_code error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
    if (error || found.empty())
      return fail(ErrorCode::kUsage,
                  "--host {}: no address of this machine; 127.0.0.1 is this machine alone, 0.0.0.0 the network",
                  visible(options.host, 80));
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error == asio::error::address_in_use)
      return fail(ErrorCode::kIo, "--port {}: in use on {}{}; stop it, or use --port {}", options.port,
                  endpoint.address().to_string(), port_owner(options.port),
                  options.port < 65535 ? options.port + 1 : 8080);
    if (error == asio::error::access_denied)
      return fail(ErrorCode::kIo, "--port {}: needs more rights; use a port above 1,023", options.port);
    if (error)
      return fail(ErrorCode::kUsage,
                  "--host {}: cannot listen there ({}); 127.0.0.1 is this machine alone, 0.0.0.0 the network",
                  visible(options.host, 80), error.message());
    state_.is_loopback = endpoint.address().is_loopback();
    state_.is_loopback_v4 = state_.is_loopback && endpoint.address().is_v4();
    return {};
  }

  int port() const override {
    error_code ignored;
    return acceptor_.local_endpoint(ignored).port();
  }
  bool is_loopback() const override { return state_.is_loopback; }
  int active() const override { return state_.active; }

  void run(std::function<void(int)> on_signal) override {
    error_code ignored;
    signals_.add(SIGINT, ignored);
    signals_.add(SIGTERM, ignored);
    wait_for_signal(std::move(on_signal));
    asio::co_spawn(io_, accept(), asio::detached);
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        // One connection's memory or library failed; the others go on.
        warn("connection: {}", visible(error.what()));
      }
    }
  }

  void stop() override {
    asio::post(io_, [this] {
      if (state_.is_draining) {
        cut();
        return;
      }
      state_.is_draining = true;
      error_code ignored;
      acceptor_.close(ignored);
      tell_all();
      drain_timer_.expires_after(seconds(state_.options.drain_seconds));
      drain_timer_.async_wait([this](error_code error) {
        if (!error) cut();
      });
      stop_when_empty();
    });
  }

 private:
  void wait_for_signal(std::function<void(int)> on_signal) {
    signals_.async_wait([this, on_signal](error_code error, int signal) {
      if (error) return;
      if (on_signal) on_signal(signal);
      wait_for_signal(on_signal);
    });
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause(io_);
    while (acceptor_.is_open()) {
      auto [error, socket] = co_await acceptor_.async_accept(kToken);
      if (error == asio::error::operation_aborted) break;
      if (error) {
        // No descriptors left: some will be given back.
        pause.expires_after(std::chrono::milliseconds(50));
        co_await pause.async_wait(kToken);
        continue;
      }
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      if (state_.connections >= state_.options.max_connections) {
        socket.non_blocking(true, ignored);
        socket.write_some(asio::buffer(refusal()), ignored);
        continue;
      }
      auto connection = std::make_shared<Connection>(io_, std::move(socket), state_);
      asio::co_spawn(io_, keep(std::move(connection)), asio::detached);
    }
  }

  asio::awaitable<void> keep(std::shared_ptr<Connection> connection) {
    co_await connection->run();
    connection.reset();
    stop_when_empty();
  }

  // For one connection too many: nothing of its request has been read.
  std::string refusal() {
    Request request;
    request.id = random_id("req_");
    const Answer answer = state_.application->fault(request, HttpFault::kFull);
    return head_bytes({answer.status, answer.headers, false},
                      state_.application->common_headers(request, answer.status), 11, false,
                      int64_t(answer.body.size())) +
           answer.body;
  }

  void tell_all() {
    for (const auto* listener : state_.listeners) (*listener)();
  }

  void cut() {
    state_.is_cut = true;
    tell_all();
    // Who does not take the end within that time is left alone.
    drain_timer_.expires_after(std::chrono::seconds(2));
    drain_timer_.async_wait([this](error_code error) {
      if (!error) io_.stop();
    });
  }

  void stop_when_empty() {
    if (state_.is_draining && state_.connections == 0) io_.stop();
  }

  ServerState state_;
  asio::io_context io_;  // after state_: connections that still wait end with it
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer drain_timer_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(Application& application, const ServerOptions& options) {
  auto server = std::make_unique<SocketServer>(application, options);
  ANEDVD_TRY_VOID(server->open());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace anedvd
