// The K types: 256 values whose groups have scales (and minima) that are themselves stored as small codes.
//
// The format leaves the choice of scales to the writer. These search for them: for each group the line through codes and values is fitted by
// least squares under several first guesses, then, with all scales rounded to their own codes, the block's two factors are fitted once more.
#pragma once

namespace anedvd {

// One block of 256 finite values to one block of the type. False: a scale leaves the range of a half.
bool quantize_q4_k(const float* values, void* block);
bool quantize_q5_k(const float* values, void* block);
bool quantize_q6_k(const float* values, void* block);

}  // namespace anedvd
