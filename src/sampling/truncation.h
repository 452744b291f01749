// Which tokens stay in the draw, without looking at the vocabulary twice.
//
// One vectorised pass finds the largest logit of each block of 64. A block whose largest is below the threshold holds no candidate and is
// never read again; and since k blocks have a largest logit of at least the k-th largest *block*, no token of the top k lies below that.
// So top-k 40 of 152,000 logits reads them once, then some 40 blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace anedvd {

struct Candidate {
  float logit;
  int32_t id;
  double weight = 0.0;  // exp((logit − largest) / temperature): 1 for the largest
};

// Larger logits first, lower ids first among equals: a total order, so that every selection is the same on every standard library.
inline bool comes_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

constexpr size_t kScanBlock =
    64;  // logits; 16 vectors of 4: the fold of a block's lanes costs under a tenth of its pass

struct LogitScan {
  std::vector<float> block_max;  // of each kScanBlock logits; the last block may be shorter
  float max = 0.0f;              // −infinity if every token is banned
  bool is_sound = false;         // no NaN and no +infinity
};

// Reads logits[vocab] once. `scan` is reused: no allocation after the first call.
void scan_logits(std::span<const float> logits, LogitScan& scan);

// Lowest id of the largest logit. The scan is sound and its max finite.
int32_t first_of_largest(std::span<const float> logits, const LogitScan& scan);

// Appends the tokens whose logit is at least `floor`, and when top_k > 0 at least those among the k largest of them (some more may come
// along; keep_largest cuts them), in order of ids. −infinity never comes.
void collect_candidates(std::span<const float> logits, const LogitScan& scan, float floor, int top_k,
                        std::vector<Candidate>& out);

// Leaves the k largest, sorted by comes_before. k > 0.
void keep_largest(std::vector<Candidate>& candidates, int k);

// Fills the weights from the logits, within 2·10^-7 of them. temperature > 0; `max` is the largest logit present, none is over 80 temperatures below.
void weigh(std::vector<Candidate>& candidates, float max, float temperature);

// Leaves the fewest candidates, first ones by comes_before, whose weights reach top_p of all, order unchanged; one at least. 0 < top_p < 1.
void keep_nucleus(std::vector<Candidate>& candidates, float top_p);

// Leaves those with weight ≥ min_p, order unchanged.
void keep_probable(std::vector<Candidate>& candidates, float min_p);

}  // namespace anedvd
