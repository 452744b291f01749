// What /metrics tells, in Prometheus' text format. Counting takes a lock of its own that no decoding thread ever holds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "engine/engine.h"

namespace anedvd {

// Counts of values up to each bound, and their sum.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1, 0) {}
  void add(double value);
  // The lines of one histogram; `labels` as `model="x"`.
  void write(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

struct ModelMetrics {
  std::string id;
  bool is_loaded = false;
  EngineStatistics statistics;
};

// Of one model's answers. Seconds and tokens.
struct AnswerHistograms {
  Histogram first_token{{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}};
  Histogram between_tokens{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1}};
  Histogram whole{{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}};
  Histogram prompt_tokens{{16, 64, 256, 1024, 4096, 16384, 65536}};
  Histogram generated_tokens{{1, 16, 64, 256, 1024, 4096, 16384}};
};

enum class MetricNames { kOwn, kLlamaCpp, kVllm };

class Metrics {
 public:
  void finished(std::string_view route, int status, const RequestRecord& record, double seconds);

  // `names`: the peers' names besides our own, so that their dashboards work.
  std::string text(const std::vector<ModelMetrics>& models, MetricNames names) const;

 private:
  mutable std::mutex mutex_;  // all below
  std::map<std::pair<std::string, int>, uint64_t> requests_;
  std::map<std::string, uint64_t> rejected_;
  uint64_t cancelled_ = 0;
  std::map<std::string, AnswerHistograms> answers_;  // by model
};

}  // namespace anedvd
