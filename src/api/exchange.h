// Between sockets and dialects: a request comes in whole, a response is pulled out piece by piece.
//
//   http:  bytes → Request ──handle()──▶ Response ──advance()──▶ Outgoing → bytes
//                                            └─ on_ready(): "ask me again"
//
// Pulling is the back-pressure: nobody asks a response for more while its last bytes wait in a socket. Destroying a response is the client's leaving:
// whatever it had asked for ends.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anedvd {

struct Header {
  std::string name, value;
};

struct Request {
  std::string method;           // as it came: "GET"
  std::string target;           // as it came, with the query
  std::string path;             // of the target: percent-decoded, "//" as "/", no trailing "/" (see split_target)
  std::string query;            // behind "?", as it came
  std::vector<Header> headers;  // names in lower case
  std::string body;             // empty until it was read
  std::string id;               // the client's x-request-id if it is a harmless word, else a new one
  bool loopback_socket = true;  // the server listens on the loopback interface only
  bool loopback_v4 = false;     // on 127.0.0.1, where "localhost" is another name of the same server
  std::optional<std::chrono::steady_clock::time_point> received;  // when its headers were there

  // The first header of that (lower-case) name; empty when absent.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
};

// Fills path and query from target. False: not a path, or broken percent encoding.
bool split_target(Request& request);

// "req_" and the like: `prefix` and `length` random letters and digits. Any thread.
std::string random_id(std::string_view prefix, size_t length = 24);

struct Head {
  int status = 200;
  std::vector<Header> headers;
  bool is_stream = false;  // no length is known: chunks; silence is filled by pings
};

struct Answer {
  int status = 200;
  std::vector<Header> headers;
  std::string body;
};

// What one call of advance() adds to what was sent.
struct Outgoing {
  std::optional<Head> head;  // before the first bytes, once
  std::string bytes;
  bool done = false;
  std::optional<std::chrono::milliseconds> again_after;  // ask again then, even if nothing is ready
};

// What is told of a request in the log when it ends. Numbers below 0: not applicable.
struct RequestRecord {
  std::string_view kind;  // "chat", "messages"; empty: no answer of a model
  std::string model;
  int prompt = -1, reused = 0, dropped = 0, generated = 0;
  double first_token_s = -1, decode_s = 0;
  std::string_view finish;  // "stop"
  std::string note;         // of a failed one: what was wrong, without the client's text
};

class Response {
 public:
  virtual ~Response() = default;

  // `wake` is called from any thread whenever advance() may have something new; it must not block. Called once, before the first advance().
  virtual void on_ready(std::function<void()> wake) = 0;

  // Adds what is ready. One thread at a time. After `done` it is not called again.
  virtual void advance(Outgoing& out) = 0;

  // What to send after a silence of the configured length; empty: nothing. Only for streams, after their head.
  virtual std::string ping() { return {}; }

  // The server stops now: the next advance() ends the answer with an error in its dialect.
  virtual void shut_down() = 0;

  virtual RequestRecord record() const { return {}; }
};

// A response that is known already.
std::unique_ptr<Response> whole_response(Answer answer, std::string note = {});

// Faults that show before a request is whole.
enum class HttpFault {
  kBadRequest,
  kBadTarget,      // percent signs that stand for nothing
  kBadHost,        // none where there must be one, or several
  kUnknownCoding,  // a Transfer-Encoding besides "chunked": nobody can tell where the body ends
  kTimeout,
  kBodyTooLarge,
  kUriTooLong,
  kHeadersTooLarge,
  kTooMany,  // bodies
  kFull,     // connections
  kInternal
};

// What the server serves.
class Application {
 public:
  using Done = std::function<void(std::unique_ptr<Response>)>;

  virtual ~Application() = default;

  // Called when the headers are there and before the body is read: an answer to send at once instead of going on. Does not block.
  virtual std::optional<Answer> admit(const Request& head) = 0;

  // Answers through `done`, at once or later, from any thread, exactly once. Does not block.
  virtual void handle(std::shared_ptr<const Request> request, Done done) = 0;

  // In the dialect that the path asks for, as far as it is known.
  virtual Answer fault(const Request& head, HttpFault fault) = 0;

  // Headers that every answer to this request carries.
  virtual std::vector<Header> common_headers(const Request& head, int status) = 0;

  // The end of a request, for the log: status 499 when the client left. `seconds`: since its headers were there.
  virtual void finished(const Request& request, int status, const RequestRecord& record, double seconds) = 0;
};

}  // namespace anedvd
