// What connections share with the server that accepted them.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <string>

#include "http/server.h"

namespace anedvd {

// All but the atomics belongs to the serving thread.
struct ServerState {
  Application* application = nullptr;
  ServerOptions options;
  bool is_loopback = true, is_loopback_v4 = false;
  bool is_draining = false;  // answers end with "Connection: close", new requests are refused
  bool is_cut = false;       // running answers end now
  size_t body_bytes = 0;     // of all requests that are being read or worked on
  int connections = 0;
  std::atomic<int> active = 0;                  // requests that are being answered
  std::list<std::function<void()>*> listeners;  // of connections: something above changed
};

// The status line's words.
std::string_view status_words(int status);

// The head of a response as bytes. `length` below 0: none is known, the body comes in chunks (or ends with the connection for HTTP/1.0).
std::string head_bytes(const Head& head, const std::vector<Header>& common, int version, bool keep_alive,
                       int64_t length);

// A chunk of a chunked body.
std::string chunk_bytes(std::string_view bytes);

}  // namespace anedvd
