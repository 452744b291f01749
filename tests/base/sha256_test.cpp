#include "base/sha256.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

std::string digest(const std::string& text) { return sha256_of(std::as_bytes(std::span(text))); }

// FIPS 180-4 examples (csrc.nist.gov, "SHA256.pdf") and, for the lengths around a block, Python's hashlib.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(digest(std::string(55, 'x')), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072") << "55";
  EXPECT_EQ(digest(std::string(56, 'x')), "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e") << "56";
  EXPECT_EQ(digest(std::string(64, 'x')), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c") << "64";
  EXPECT_EQ(digest(std::string(119, 'x')), "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c") << "119";
  EXPECT_EQ(digest(std::string(120, 'x')), "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98") << "120";
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += char(i * 7);
  for (size_t step = 1; step < 200; ++step) {
    Sha256 sum;
    for (size_t at = 0; at < text.size(); at += step) {
      const std::string piece = text.substr(at, step);
      sum.add(std::as_bytes(std::span(piece)));
    }
    EXPECT_EQ(sum.finish(), digest(text)) << "step " << step;
  }
}

}  // namespace
}  // namespace anedvd
