#include "faults.h"

#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "object.h"
#include "report.h"

namespace standin {
namespace {

struct Fault {
  enum class Kind { kFail, kRaise, kStall, kWrong, kInfinite } kind = Kind::kFail;
  Failure failure;
  int milliseconds = 0;
};

struct Orders {
  std::mutex lock;  // guards `by_method`
  std::map<std::string, std::deque<Fault>> by_method;
};

Orders& orders() {
  static Orders* const it = new Orders;  // a stalled thread may ask after the last destructor has run
  return *it;
}

std::vector<std::string> fields_of(const std::string& words, char separator, size_t most) {
  std::vector<std::string> out;
  std::string rest = words;
  while (out.size() + 1 < most) {
    const size_t at = rest.find(separator);
    if (at == std::string::npos) break;
    out.push_back(rest.substr(0, at));
    rest.erase(0, at + 1);
  }
  out.push_back(rest);
  return out;
}

void order_one(const std::string& words) {
  const size_t equals = words.find('=');
  if (equals == std::string::npos) complain("wrong order", "no METHOD= in \"" + words + "\"");
  const std::string method = words.substr(0, equals);
  const auto fields = fields_of(words.substr(equals + 1), ',', 5);
  if (method == "hide") return hide(fields[0]);
  Fault fault;
  int times = 1;
  if (method == "spoil" && fields.size() == 2 && (fields[0] == "wrong" || fields[0] == "infinite")) {
    fault.kind = fields[0] == "wrong" ? Fault::Kind::kWrong : Fault::Kind::kInfinite;
    times = std::atoi(fields[1].c_str());
  } else if (fields[0] == "raise" && fields.size() == 2) {
    fault.kind = Fault::Kind::kRaise;
    times = std::atoi(fields[1].c_str());
  } else if (fields[0] == "stall" && fields.size() == 2) {
    fault.kind = Fault::Kind::kStall;
    fault.milliseconds = std::atoi(fields[1].c_str());
  } else if (fields.size() == 5) {
    const auto status = unsigned(std::strtoul(fields[2].c_str(), nullptr, 0));
    fault.failure = {fields[0], std::atol(fields[1].c_str()), fields[4], std::nullopt};
    if (status != 0) fault.failure.status = status;
    times = std::atoi(fields[3].c_str());
  } else {
    complain("wrong order", "cannot read \"" + words + "\"");
  }
  const std::lock_guard guard(orders().lock);
  for (int i = 0; i < times; ++i) orders().by_method[method].push_back(fault);
}

struct RaisedException {};  // stands for an NSException: something that C++ cannot name

std::optional<Fault> next_order(const std::string& method) {
  const std::lock_guard guard(orders().lock);
  auto& waiting = orders().by_method[method];
  if (waiting.empty()) return std::nullopt;
  const Fault fault = waiting.front();
  waiting.pop_front();
  return fault;
}

}  // namespace

std::optional<Failure> next_fault(const std::string& method) {
  const std::optional<Fault> fault = next_order(method);
  if (!fault) return std::nullopt;
  if (fault->kind == Fault::Kind::kFail) return fault->failure;
  if (fault->kind == Fault::Kind::kRaise) throw RaisedException{};
  std::this_thread::sleep_for(std::chrono::milliseconds(fault->milliseconds));
  return std::nullopt;
}

Spoil next_spoil() {
  const std::optional<Fault> fault = next_order("spoil");
  if (!fault) return Spoil::kNone;
  return fault->kind == Fault::Kind::kWrong ? Spoil::kWrong : Spoil::kInfinite;
}

void order_faults(const std::string& words) {
  std::stringstream all(words);
  for (std::string one; std::getline(all, one, '|');)
    if (!one.empty()) order_one(one);
}

void order_faults_of_environment() {
  if (const char* words = std::getenv("ANEDVD_STANDIN_FAULTS")) order_faults(words);
}

void cancel_faults() {
  const std::lock_guard guard(orders().lock);
  orders().by_method.clear();
}

}  // namespace standin
