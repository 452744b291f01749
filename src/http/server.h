// HTTP/1.1 over sockets for one Application: limits, deadlines, keep-alive, streams.
//
//   run() thread: accept → a coroutine a connection ┬ read head → admit() → read body → handle() ⇢ (workers)
//                                                   └ pull the response, write, wait for more, watch for the client's leaving
//
// One thread carries every connection: it never waits and does no work of a request, so hundreds of idle streams cost nothing and a GET is answered
// at once. Knows nothing of JSON or models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/exchange.h"
#include "base/result.h"

namespace anedvd {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  size_t max_body = size_t(32) << 20;
  size_t max_header = size_t(64) << 10;  // bytes of all header lines
  size_t max_uri = size_t(16) << 10;
  size_t max_bodies = size_t(256) << 20;  // bytes of all bodies that are being read or worked on
  int max_connections = 2048;
  double head_seconds = 30;   // from a request's first byte to the end of its headers
  double body_seconds = 30;   // of silence, and for each 16 kB of a body on average
  double idle_seconds = 75;   // between requests
  double write_seconds = 30;  // until a stuck client has taken what was written
  double ping_seconds = 10;   // of silence in a stream
  double drain_seconds = 10;  // for running answers after stop()
};

// Outlives the requests that it handed over: every `done` of the application has been called before it goes.
class Server {
 public:
  // Binds and listens. Errors: kUsage (host is no address of this machine), kIo (the port is taken; names who has it where that can be found out).
  static Result<std::unique_ptr<Server>> listen(Application& application, const ServerOptions& options);

  virtual ~Server() = default;

  virtual int port() const = 0;
  virtual bool is_loopback() const = 0;  // reachable from this machine only

  // Serves until stop() was called and the last answer ended (or was cut off). `on_signal` hears SIGINT and SIGTERM on the serving thread; the first of
  // them should call stop(), whatever else it says.
  virtual void run(std::function<void(int signal)> on_signal) = 0;

  // Any thread. No new connections and requests; running answers have drain_seconds. The second call cuts them off.
  virtual void stop() = 0;

  // Requests that are being answered. Any thread.
  virtual int active() const = 0;
};

}  // namespace anedvd
