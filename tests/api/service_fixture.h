// A service without sockets: requests go in as texts, answers come out whole, streams as one text.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "api/fake_engine.h"
#include "api/service/service.h"

namespace anedvd {

struct Got {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  RequestRecord record;

  std::string header(std::string_view name) const {
    for (const Header& header : headers)
      if (header.name == name) return header.value;
    return {};
  }
  nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(body, nullptr, false); }
  // The error object of either dialect.
  nlohmann::ordered_json error() const { return json().value("error", nlohmann::ordered_json::object()); }

  // The data of each event; "[DONE]" as a string.
  std::vector<nlohmann::ordered_json> events() const {
    std::vector<nlohmann::ordered_json> all;
    for (size_t at = body.find("data: "); at != std::string::npos; at = body.find("data: ", at)) {
      const size_t end = body.find("\n\n", at);
      const std::string data = body.substr(at + 6, end - at - 6);
      all.push_back(data == "[DONE]" ? nlohmann::ordered_json(data)
                                     : nlohmann::ordered_json::parse(data, nullptr, false));
      at = end;
    }
    return all;
  }

  // The names of events.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (size_t at = body.find("event: "); at != std::string::npos; at = body.find("event: ", at + 1))
      all.push_back(body.substr(at + 7, body.find('\n', at) - at - 7));
    return all;
  }
};

class ServiceTest : public testing::Test {
 protected:
  void start(FakeEngine::Script script = Answering{}, ServiceOptions options = {}) {
    options.defaults.version = "0";
    options.defaults.sampling.temperature = 1;
    RegistryOptions registry;
    registry.load = [this, script](const std::filesystem::path& path) -> Result<std::unique_ptr<Engine>> {
      ANEDVD_TRY(auto runtime, Runtime::load(path, {.threads = 1}));
      auto engine = std::make_unique<FakeEngine>(std::move(runtime), script);
      engine_ = engine.get();
      return std::unique_ptr<Engine>(std::move(engine));
    };
    registry.chat_template = chat_template_;
    registry.loaded = [this](const std::string&, const Result<std::shared_ptr<ServedModel>>&) {
      const std::lock_guard lock(mutex_);
      is_loaded_ = true;
      changed_.notify_all();
    };
    models_ =
        std::make_unique<ModelRegistry>(std::vector<ModelEntry>{{"tiny", model_, {"small"}}}, std::move(registry));
    service_ = std::make_unique<Service>(*models_, std::move(options));
    models_->start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_loaded_; });
  }

  // The same with a copy of the model that wants BOS before every text.
  void start_with_bos() {
    std::ifstream file(model_, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view kKey = "tokenizer.ggml.add_bos_token";
    const size_t at = bytes.find(kKey);
    ASSERT_NE(at, std::string::npos);
    bytes[at + kKey.size() + 4] = 1;  // behind the type
    model_ = testing::TempDir() + "with-bos-" + std::to_string(::getpid()) + ".gguf";
    std::ofstream(model_, std::ios::binary) << bytes;
    start();
    std::remove(model_.c_str());  // mapped by now
  }

  Request request(const std::string& method, const std::string& target, const std::string& body = {},
                  std::vector<Header> headers = {}) const {
    Request made;
    made.method = method;
    made.target = target;
    made.body = body;
    made.headers = std::move(headers);
    made.id = "req_test";
    EXPECT_TRUE(split_target(made));
    return made;
  }

  std::unique_ptr<Response> begin(const Request& asked) {
    std::unique_ptr<Response> response;
    bool has_come = false;
    service_->handle(std::make_shared<Request>(asked), [&](std::unique_ptr<Response> given) {
      const std::lock_guard lock(mutex_);
      response = std::move(given);
      has_come = true;
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_come; });
    return response;
  }

  Got ask(const Request& asked) {
    Got got;
    if (auto refused = service_->admit(asked)) {
      got = {refused->status, refused->headers, refused->body, {}};
    } else {
      const auto response = begin(asked);
      response->on_ready([this] {
        const std::lock_guard lock(mutex_);
        is_ready_ = true;
        changed_.notify_all();
      });
      while (true) {
        Outgoing out;
        response->advance(out);
        if (out.head) got.status = out.head->status, got.headers = out.head->headers;
        got.body += out.bytes;
        if (out.done) break;
        if (!out.bytes.empty()) continue;
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return is_ready_; })) << got.body;
        is_ready_ = false;
      }
      got.record = response->record();
    }
    for (const Header& header : service_->common_headers(asked, got.status)) got.headers.push_back(header);
    return got;
  }

  Got post(const std::string& target, const std::string& body, std::vector<Header> headers = {}) {
    return ask(request("POST", target, body, std::move(headers)));
  }
  Got get(const std::string& target, std::vector<Header> headers = {}) {
    return ask(request("GET", target, {}, std::move(headers)));
  }

  // The last request that reached the engine.
  GenerationRequest last() const { return engine_->requests().back(); }

  std::string model_ = std::string(ANEDVD_TEST_DATA) + "/tiny-llama-q4_1.gguf";
  std::string chat_template_;
  FakeEngine* engine_ = nullptr;
  std::unique_ptr<ModelRegistry> models_;
  std::unique_ptr<Service> service_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_loaded_ = false, is_ready_ = false;
};

}  // namespace anedvd
