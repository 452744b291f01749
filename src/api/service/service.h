// The application behind the sockets: routes, dialects, models.
//
//   admit()   who may ask, and whether the route exists              serving thread, at once
//   handle()  GET: from snapshots, at once. POST: on the workers ─▶ model (loaded or waited for) ─▶ workers: prompt ─▶ engine ─▶ Response
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "api/exchange.h"
#include "api/gate.h"
#include "api/generation/generation_job.h"
#include "api/generation/running_requests.h"
#include "api/models/model_registry.h"
#include "api/openai/response_store.h"
#include "api/service/metrics.h"
#include "api/service/request_log.h"
#include "api/service/web_page.h"
#include "api/service/worker_pool.h"

namespace anedvd {

struct ServiceOptions {
  GateOptions gate = {};
  RequestDefaults defaults = {};
  bool metrics_public = false;
  MetricNames metric_names = MetricNames::kOwn;
  bool no_queue = false;       // a full engine is "busy" (503), not "queue full" (429)
  int max_seq = 4096;          // context of models that are not loaded yet, at most
  int parallel = 4;            // answers at once: what /props and /slots tell
  size_t response_store = 64;  // answers of /v1/responses that are kept
  std::string page = {};       // of "/": HTML; empty: there is none
  LogStyle log_style = LogStyle::kKeyValue;
  bool log_all = false;                              // GETs too
  std::function<void(const std::string&)> log = {};  // gets whole lines; empty: none
};

class Service : public Application {
 public:
  Service(ModelRegistry& models, ServiceOptions options);
  ~Service() override;

  std::optional<Answer> admit(const Request& head) override;
  void handle(std::shared_ptr<const Request> request, Done done) override;
  Answer fault(const Request& head, HttpFault fault) override;
  std::vector<Header> common_headers(const Request& head, int status) override;
  void finished(const Request& request, int status, const RequestRecord& record, double seconds) override;

  // From here on new requests are refused.
  void drain() { is_draining_ = true; }

  // Waits for the workers: every `done` has been called when it returns.
  void close();

 private:
  struct Route;
  static const Route kRoutes[];
  static const Route* find_route(std::string_view path, std::string_view method, std::string* allowed);

  Answer refused(const Request& request, const ApiError& error) const;
  void refuse_with(const Request& request, const ApiError& error, const Done& done) const;

  // GET routes: snapshots only.
  Answer page(const Request& request);
  Answer health(const Request& request);
  Answer models(const Request& request);
  Answer model(const Request& request);
  Answer metrics(const Request& request);
  Answer props(const Request& request);
  Answer slots(const Request& request);
  Answer stored_response(const Request& request);
  Answer deleted_response(const Request& request);

  // POST routes, on a worker.
  void chat(std::shared_ptr<const Request> request, Done done);
  void completions(std::shared_ptr<const Request> request, Done done);
  void messages(std::shared_ptr<const Request> request, Done done);
  void count_tokens(std::shared_ptr<const Request> request, Done done);
  void responses(std::shared_ptr<const Request> request, Done done);
  void responses_tokens(std::shared_ptr<const Request> request, Done done);
  void cancel_response(std::shared_ptr<const Request> request, Done done);
  void cancel_request(std::shared_ptr<const Request> request, Done done);
  void embeddings(std::shared_ptr<const Request> request, Done done);
  void rerank(std::shared_ptr<const Request> request, Done done);
  void tokenize(std::shared_ptr<const Request> request, Done done);
  void detokenize(std::shared_ptr<const Request> request, Done done);
  void apply_template(std::shared_ptr<const Request> request, Done done);

  void generate(std::shared_ptr<const Request> request, ApiResult<GenerationJob> job, Done done);
  void count(std::shared_ptr<const Request> request, ApiResult<GenerationJob> job, bool as_response, Done done);
  void answer_from_model(std::shared_ptr<const Request> request,
                         ApiResult<std::unique_ptr<Response>> (*make)(const ServedModel&,
                                                                      const nlohmann::ordered_json&),
                         Done done);
  // Runs `work` on a worker once the model that `name` means is there.
  using ModelWork = std::function<ApiResult<std::unique_ptr<Response>>(std::shared_ptr<ServedModel>)>;
  void with_model(std::shared_ptr<const Request> request, std::string_view name, ApiDialect dialect, ModelWork work,
                  Done done);

  ModelRegistry& models_;
  const ServiceOptions options_;
  const WebPage page_;
  const Gate gate_;
  Metrics metrics_;
  ResponseStore stored_;
  const std::shared_ptr<RunningRequests> running_ = std::make_shared<RunningRequests>();
  std::atomic<bool> is_draining_ = false;
  WorkerPool workers_;
};

}  // namespace anedvd
