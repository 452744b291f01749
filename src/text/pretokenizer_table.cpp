// Which `tokenizer.ggml.pre` name means which rules.
//
// The expressions are those of the models' own tokenizer.json files, as llama.cpp's converter and its vocabulary loader pair them with
// names (src/llama-vocab.cpp). Where llama.cpp approximates one (letter case beyond ASCII, marks, grouped digits), the model's own counts.
#include <algorithm>
#include <array>
#include <iterator>

#include "text/pretokenize.h"

namespace anedvd {
namespace {

using enum RuleKind;

constexpr CharSet kSpaceChar{kPlainSpace};
constexpr CharSet kAnySpace{kSpace};
constexpr CharSet kNewlines_{kNewline};
constexpr CharSet kLetters{kLetter};
constexpr CharSet kLettersAndMarks{kLetter | kMark};
constexpr CharSet kNumbers{kNumber};
constexpr CharSet kPunctuations{kPunctuation};
constexpr CharSet kPunctuationsAndSymbols{kPunctuation | kSymbol};
constexpr CharSet kNoWord{kLetter | kNumber | kNewline, true};              // [^\r\n\p{L}\p{N}]
constexpr CharSet kOthers{kSpace | kLetter | kNumber, true};                // [^\s\p{L}\p{N}]
constexpr CharSet kOthersNoMark{kSpace | kLetter | kMark | kNumber, true};  // [^\s\p{L}\p{M}\p{N}]

constexpr Rule kContractions{.kind = kContraction};
constexpr Rule kFoldedContractions{.kind = kAnyCaseContraction};
constexpr Rule kSpacedLetters{.kind = kRun, .prefix = kSpaceChar, .set = kLetters};
constexpr Rule kSpacedNumbers{.kind = kRun, .prefix = kSpaceChar, .set = kNumbers};
constexpr Rule kSpacedOthers{.kind = kRun, .prefix = kSpaceChar, .set = kOthers};
constexpr Rule kOthersAndLines{.kind = kRun, .prefix = kSpaceChar, .set = kOthers, .tail = kNewlines_};
constexpr Rule kOthersLinesSlashes{.kind = kRun, .prefix = kSpaceChar, .set = kOthers, .tail = {kNewline | kSlash}};
constexpr Rule kPrefixedLetters{.kind = kRun, .prefix = kNoWord, .set = kLetters};
constexpr Rule kOneNumber{.kind = kRun, .set = kNumbers, .most = 1};
constexpr Rule kThreeNumbers{.kind = kRun, .set = kNumbers, .most = 3};
constexpr Rule kAllNumbers{.kind = kRun, .set = kNumbers};
constexpr Rule kLines{.kind = kNewlines};
constexpr Rule kLeadingSpaces{.kind = kSpacesBefore};
constexpr Rule kAllSpaces{.kind = kSpaces};

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
constexpr std::array kGpt2{kContractions, kSpacedLetters, kSpacedNumbers, kSpacedOthers, kLeadingSpaces, kAllSpaces};

// (?i:'s|…)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+, and with other digit counts
constexpr std::array kLlama3{kFoldedContractions, kPrefixedLetters, kThreeNumbers, kOthersAndLines, kLines,
                             kLeadingSpaces,      kAllSpaces};
constexpr std::array kQwen2{kFoldedContractions, kPrefixedLetters, kOneNumber, kOthersAndLines, kLines,
                            kLeadingSpaces,      kAllSpaces};
constexpr std::array kMiniCpm5{kFoldedContractions, kPrefixedLetters, kAllNumbers, kOthersAndLines, kLines,
                               kLeadingSpaces,      kAllSpaces};
constexpr std::array kNoContractions{kPrefixedLetters, kOneNumber, kOthersAndLines, kLines, kLeadingSpaces, kAllSpaces};
constexpr std::array kJais2{kFoldedContractions, kPrefixedLetters, kThreeNumbers,
                            kOthersAndLines,     kLines,           Rule{.kind = kSpacesHalving}};
constexpr std::array kSeedCoder{kFoldedContractions, kPrefixedLetters, kOneNumber, kSpacedOthers, kLines,
                                kLeadingSpaces,      kAllSpaces};
// Marks are letters.
constexpr std::array kQwen35{kFoldedContractions,
                             Rule{.kind = kRun, .prefix = kNoWord, .set = kLettersAndMarks},
                             kOneNumber,
                             Rule{.kind = kRun, .prefix = kSpaceChar, .set = kOthersNoMark, .tail = kNewlines_},
                             kLines,
                             kLeadingSpaces,
                             kAllSpaces};
constexpr std::array kExaoneMoe{
    kFoldedContractions,
    Rule{.kind = kPhrase, .prefix = kNoWord},
    kOneNumber,
    Rule{.kind = kRun, .prefix = kSpaceChar, .set = kOthers, .tail = {kNewline | kSlash}, .tail_most = 1},
    kLines,
    kLeadingSpaces,
    kAllSpaces};

// Words told by case.
constexpr Rule kCased{.kind = kCasedWord, .prefix = kNoWord};
constexpr Rule kCasedContracted{.kind = kCasedWord, .prefix = kNoWord, .contraction = true};
constexpr std::array kTekken{kCased, kOneNumber, kOthersLinesSlashes, kLines, kLeadingSpaces, kAllSpaces};
constexpr std::array kGpt4o{kCasedContracted, kThreeNumbers, kOthersLinesSlashes, kLines, kLeadingSpaces, kAllSpaces};

// Scripts. Ranges as the expressions write them.
constexpr std::array kHanRanges{
    CodeRange{0x2E80, 0x2E99},   CodeRange{0x2E9B, 0x2EF3},   CodeRange{0x2F00, 0x2FD5},   CodeRange{0x3005, 0x3005},
    CodeRange{0x3007, 0x3007},   CodeRange{0x3021, 0x3029},   CodeRange{0x3038, 0x303B},   CodeRange{0x3400, 0x4DBF},
    CodeRange{0x4E00, 0x9FFF},   CodeRange{0xF900, 0xFA6D},   CodeRange{0xFA70, 0xFAD9},   CodeRange{0x16FE2, 0x16FE3},
    CodeRange{0x16FF0, 0x16FF1}, CodeRange{0x20000, 0x2A6DF}, CodeRange{0x2A700, 0x2B739}, CodeRange{0x2B740, 0x2B81D},
    CodeRange{0x2B820, 0x2CEA1}, CodeRange{0x2CEB0, 0x2EBE0}, CodeRange{0x2EBF0, 0x2EE5D}, CodeRange{0x2F800, 0x2FA1D},
    CodeRange{0x30000, 0x3134A}, CodeRange{0x31350, 0x323AF}};  // \p{Han}: Scripts.txt
constexpr CharSet kHan{.ranges = kHanRanges};
constexpr std::array kKimi{Rule{.kind = kRun, .set = kHan},
                           Rule{.kind = kCasedWord, .prefix = kNoWord, .set = kHan, .contraction = true},
                           kThreeNumbers,
                           kOthersAndLines,
                           kLines,
                           kLeadingSpaces,
                           kAllSpaces};

constexpr std::array kHanKanaRanges{CodeRange{0x3040, 0x309F}, CodeRange{0x30A0, 0x30FF}, CodeRange{0x4E00, 0x9FA5}};
constexpr std::array kHanKana{Rule{.kind = kRun, .set = {.ranges = kHanKanaRanges}}};  // [一-龥぀-ゟ゠-ヿ]+
constexpr std::array kHanHangulRanges{CodeRange{0x0800, 0x4E00}, CodeRange{0x4E01, 0x9FA5}, CodeRange{0xAC00, 0xD7FF}};
constexpr std::array kHanHangul{Rule{.kind = kRun, .set = {.ranges = kHanHangulRanges}}};  // [一-龥ࠀ-一가-퟿]+
constexpr std::array kAfmoeRanges{CodeRange{0x0E40, 0x0E7F}, CodeRange{0x0E80, 0x0EFF}, CodeRange{0x1000, 0x109F},
                                  CodeRange{0x1100, 0x11FF}, CodeRange{0x1780, 0x17FF}, CodeRange{0x2F00, 0x2FDF},
                                  CodeRange{0x3040, 0x309F}, CodeRange{0x30A0, 0x30FF}, CodeRange{0x3400, 0x4DBF},
                                  CodeRange{0x4E00, 0x9FFF}, CodeRange{0xA9E0, 0xA9FF}, CodeRange{0xAA60, 0xAA7F},
                                  CodeRange{0xAC00, 0xD7AF}, CodeRange{0xF900, 0xFAFF}, CodeRange{0xFF65, 0xFF9F}};
constexpr std::array kAfmoeScripts{Rule{.kind = kRun, .set = {.ranges = kAfmoeRanges}}};

// [!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
constexpr Rule kPunctAndLetters{.kind = kRun, .prefix = {kAsciiPunct}, .set = {kAsciiLetter}, .prefix_needed = true};
constexpr Rule kPrefixedMarked{
    .kind = kRun, .prefix = {kLetter | kPunctuation | kSymbol | kNewline, true}, .set = kLettersAndMarks};
constexpr std::array kDeepseek3{
    kPunctAndLetters,
    kPrefixedMarked,
    Rule{.kind = kRun, .prefix = kSpaceChar, .set = kPunctuationsAndSymbols, .tail = kNewlines_},
    kLines,
    kLeadingSpaces,
    kAllSpaces};
constexpr std::array kSpark{kPunctAndLetters,
                            kPrefixedMarked,
                            Rule{.kind = kRun, .prefix = kSpaceChar, .set = kPunctuationsAndSymbols},
                            Rule{.kind = kRun, .set = kNewlines_, .most = 1},
                            kLeadingSpaces,
                            kAllSpaces};

// Single forms that stand as stages of their own.
constexpr std::array kEachNumber{kOneNumber};
constexpr std::array kNumberTriples{kThreeNumbers};
constexpr std::array kNumberRuns{kAllNumbers};
constexpr std::array kEachNewline{Rule{.kind = kRun, .set = kNewlines_, .most = 1}};
constexpr std::array kSpacedLetterRuns{Rule{.kind = kRun, .prefix = kAnySpace, .set = kLetters}};
constexpr std::array kSpacedPunctuationRuns{Rule{.kind = kRun, .prefix = kAnySpace, .set = kPunctuations}};
constexpr std::array kEndSpaces{Rule{.kind = kSpacesAtEnd}};
constexpr std::array kDigitThrees{Rule{.kind = kRun, .set = {kAsciiDigit}, .least = 3, .most = 3}};  // [0-9][0-9][0-9]
constexpr std::array kPunctuationRuns{Rule{.kind = kRun, .set = {kPunctuation | kAsciiSymbol}}};
constexpr std::array kPunctuationRunsBacktick{Rule{.kind = kRun, .set = {kPunctuation | kAsciiSymbol | kBacktick}}};
constexpr std::array kDigitsFromRight{Rule{.kind = kDigitGroups, .set = {kDecimal}}};

// [^\n]+|\n+
constexpr std::array kLineFeedRange{CodeRange{'\n', '\n'}};
constexpr std::array kLineParts{Rule{.kind = kRun, .set = {.negated = true, .ranges = kLineFeedRange}},
                                Rule{.kind = kRun, .set = {.ranges = kLineFeedRange}}};

//  ?[^(\s|.,!?…。，、।۔،)]+   (inside the brackets the parentheses and the bar are characters)
constexpr std::array kSentenceRanges{CodeRange{'!', '!'},       CodeRange{'(', ')'},       CodeRange{',', ','},
                                     CodeRange{'.', '.'},       CodeRange{'?', '?'},       CodeRange{'|', '|'},
                                     CodeRange{0x060C, 0x060C}, CodeRange{0x06D4, 0x06D4}, CodeRange{0x0964, 0x0964},
                                     CodeRange{0x2026, 0x2026}, CodeRange{0x3001, 0x3002}, CodeRange{0xFF0C, 0xFF0C}};
constexpr std::array kBloom{
    Rule{.kind = kRun, .prefix = kSpaceChar, .set = {.classes = kSpace, .negated = true, .ranges = kSentenceRanges}}};

// deepseek-llm:  \s?[letters of the bicameral scripts]+  and  \s?[!-/:-~！-／：-～‘-‟　-。]+
constexpr std::array kBicameralRanges{
    CodeRange{0x41, 0x5A},       CodeRange{0x61, 0x7A},       CodeRange{0xB5, 0xB5},       CodeRange{0xC0, 0xD6},
    CodeRange{0xD8, 0xF6},       CodeRange{0xF8, 0x1BA},      CodeRange{0x1BC, 0x1BF},     CodeRange{0x1C4, 0x293},
    CodeRange{0x295, 0x2AF},     CodeRange{0x370, 0x373},     CodeRange{0x376, 0x377},     CodeRange{0x37B, 0x37D},
    CodeRange{0x37F, 0x37F},     CodeRange{0x386, 0x386},     CodeRange{0x388, 0x38A},     CodeRange{0x38C, 0x38C},
    CodeRange{0x38E, 0x3A1},     CodeRange{0x3A3, 0x3F5},     CodeRange{0x3F7, 0x481},     CodeRange{0x48A, 0x52F},
    CodeRange{0x531, 0x556},     CodeRange{0x10A0, 0x10C5},   CodeRange{0x13A0, 0x13F5},   CodeRange{0x13F8, 0x13FD},
    CodeRange{0x1C90, 0x1CBA},   CodeRange{0x1CBD, 0x1CBF},   CodeRange{0x1D00, 0x1D2B},   CodeRange{0x1D6B, 0x1D77},
    CodeRange{0x1D79, 0x1D9A},   CodeRange{0x1E00, 0x1F15},   CodeRange{0x1F18, 0x1F1D},   CodeRange{0x1F20, 0x1F45},
    CodeRange{0x1F48, 0x1F4D},   CodeRange{0x1F50, 0x1F57},   CodeRange{0x1F59, 0x1F59},   CodeRange{0x1F5B, 0x1F5B},
    CodeRange{0x1F5D, 0x1F5D},   CodeRange{0x1F5F, 0x1F7D},   CodeRange{0x1F80, 0x1FB4},   CodeRange{0x1FB6, 0x1FBC},
    CodeRange{0x1FBE, 0x1FBE},   CodeRange{0x1FC2, 0x1FC4},   CodeRange{0x1FC6, 0x1FCC},   CodeRange{0x1FD0, 0x1FD3},
    CodeRange{0x1FD6, 0x1FDB},   CodeRange{0x1FE0, 0x1FEC},   CodeRange{0x1FF2, 0x1FF4},   CodeRange{0x1FF6, 0x1FFC},
    CodeRange{0x2102, 0x2102},   CodeRange{0x2107, 0x2107},   CodeRange{0x210A, 0x2113},   CodeRange{0x2115, 0x2115},
    CodeRange{0x2119, 0x211D},   CodeRange{0x2124, 0x2124},   CodeRange{0x2126, 0x2126},   CodeRange{0x2128, 0x2128},
    CodeRange{0x212A, 0x212D},   CodeRange{0x212F, 0x2134},   CodeRange{0x2139, 0x2139},   CodeRange{0x213C, 0x213F},
    CodeRange{0x2145, 0x2149},   CodeRange{0x214E, 0x214E},   CodeRange{0x2183, 0x2184},   CodeRange{0x2C00, 0x2C7B},
    CodeRange{0x2C7E, 0x2CE4},   CodeRange{0x2CEB, 0x2CEE},   CodeRange{0x2CF2, 0x2CF3},   CodeRange{0xA640, 0xA66D},
    CodeRange{0xA680, 0xA69B},   CodeRange{0xA722, 0xA76F},   CodeRange{0xA771, 0xA787},   CodeRange{0xA78B, 0xA78E},
    CodeRange{0xAB70, 0xABBF},   CodeRange{0xFB00, 0xFB06},   CodeRange{0xFB13, 0xFB17},   CodeRange{0xFF21, 0xFF3A},
    CodeRange{0xFF41, 0xFF5A},   CodeRange{0x10400, 0x1044F}, CodeRange{0x104B0, 0x104D3}, CodeRange{0x104D8, 0x104FB},
    CodeRange{0x10C80, 0x10CB2}, CodeRange{0x10CC0, 0x10CF2}, CodeRange{0x118A0, 0x118DF}, CodeRange{0x1E900, 0x1E943}};
constexpr std::array kBicameralRuns{Rule{.kind = kRun, .prefix = kAnySpace, .set = {.ranges = kBicameralRanges}}};
constexpr std::array kSignRanges{CodeRange{0x21, 0x2F},     CodeRange{0x3A, 0x7E},     CodeRange{0x2018, 0x201F},
                                 CodeRange{0x3000, 0x3002}, CodeRange{0xFF01, 0xFF0F}, CodeRange{0xFF1A, 0xFF5E}};
constexpr std::array kSignRuns{Rule{.kind = kRun, .prefix = kAnySpace, .set = {.ranges = kSignRanges}}};

// youtu: [가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+
constexpr std::array kHangulRanges{CodeRange{0x3131, 0x318E}, CodeRange{0xAC00, 0xD7A3}};
constexpr std::array kCjkSignRanges{CodeRange{0x2014, 0x2014}, CodeRange{0x2018, 0x2019}, CodeRange{0x201C, 0x201D},
                                    CodeRange{0x2026, 0x2026}, CodeRange{0x3001, 0x303F}, CodeRange{0xFE30, 0xFE4F},
                                    CodeRange{0xFF01, 0xFF01}, CodeRange{0xFF0C, 0xFF0C}, CodeRange{0xFF1A, 0xFF1B}};
constexpr std::array kBopomofoRanges{CodeRange{0x3105, 0x312F}};
constexpr std::array kYoutuScripts{
    Rule{.kind = kRun, .set = {.ranges = kHangulRanges}}, Rule{.kind = kRun, .set = {.ranges = kCjkSignRanges}},
    Rule{.kind = kRun, .set = {.ranges = kBopomofoRanges}}, Rule{.kind = kRun, .set = {.ranges = kHanKanaRanges}}};
constexpr std::array kGpt4oOneNumber{kCasedContracted, kOneNumber,     kOthersLinesSlashes,
                                     kLines,           kLeadingSpaces, kAllSpaces};

// chameleon: ([\t\n]|    |  ), then digits and punctuation one by one. Its sentinel and image tokens are whole tokens in the vocabulary.
constexpr std::array kTabLineRange{CodeRange{'\t', '\n'}};
constexpr std::array kTabsAndSpaces{Rule{.kind = kRun, .set = {.ranges = kTabLineRange}, .most = 1},
                                    Rule{.kind = kRun, .set = kSpaceChar, .least = 4, .most = 4},
                                    Rule{.kind = kRun, .set = kSpaceChar, .least = 2, .most = 2}};
constexpr std::array kEachPunctuation{Rule{.kind = kRun, .set = {kPunctuation | kAsciiPunct}, .most = 1}};

// The stages behind the names.
constexpr std::array<Stage, 2> kYoutuStages{kYoutuScripts, kGpt4oOneNumber};
constexpr std::array<Stage, 4> kChameleonStages{kTabsAndSpaces, kEachNumber, kEachPunctuation, kGpt2};
constexpr std::array<Stage, 1> kGpt2Stages{kGpt2};
constexpr std::array<Stage, 1> kLlama3Stages{kLlama3};
constexpr std::array<Stage, 1> kQwen2Stages{kQwen2};
constexpr std::array<Stage, 1> kQwen35Stages{kQwen35};
constexpr std::array<Stage, 1> kNoContractionsStages{kNoContractions};
constexpr std::array<Stage, 1> kJais2Stages{kJais2};
constexpr std::array<Stage, 1> kSeedCoderStages{kSeedCoder};
constexpr std::array<Stage, 1> kExaoneMoeStages{kExaoneMoe};
constexpr std::array<Stage, 1> kTekkenStages{kTekken};
constexpr std::array<Stage, 1> kGpt4oStages{kGpt4o};
constexpr std::array<Stage, 1> kKimiStages{kKimi};
constexpr std::array<Stage, 1> kBloomStages{kBloom};
constexpr std::array<Stage, 1> kLinePartStages{kLineParts};
constexpr std::array<Stage, 2> kVikingStages{kBloom, kEachNumber};
constexpr std::array<Stage, 2> kEachNumberGpt2Stages{kEachNumber, kGpt2};
constexpr std::array<Stage, 2> kMiniCpm5Stages{kNumberTriples, kMiniCpm5};
constexpr std::array<Stage, 2> kLagunaStages{kLineParts, kQwen2};
constexpr std::array<Stage, 2> kSuperBpeStages{kNumberRuns, kDigitsFromRight};
constexpr std::array<Stage, 2> kTinyAyaStages{kDigitsFromRight, kGpt4o};
constexpr std::array<Stage, 3> kDeepseek3Stages{kNumberTriples, kHanKana, kDeepseek3};
constexpr std::array<Stage, 4> kSparkStages{kNumberTriples, kHanKana, kSpark, kEachNumber};
constexpr std::array<Stage, 3> kAfmoeStages{kDigitsFromRight, kAfmoeScripts, kDeepseek3};
constexpr std::array<Stage, 3> kFalconStages{kPunctuationRunsBacktick, kGpt2, kDigitThrees};
constexpr std::array<Stage, 4> kDefaultStages{kPunctuationRuns, kGpt2, kNumberRuns, kDigitThrees};
constexpr std::array<Stage, 5> kDeepseekCoderStages{kEachNewline, kSpacedLetterRuns, kSpacedPunctuationRuns, kHanHangul,
                                                    kEachNumber};
constexpr std::array<Stage, 6> kDeepseekLlmStages{kEachNewline, kBicameralRuns, kSignRuns,
                                                  kEndSpaces,   kHanHangul,     kNumberRuns};

// NAME, stages, ignore_merges, adds_bos, nfc, characters
constexpr Pretokenizer kPretokenizers[] = {
    {"default", kDefaultStages},
    {"llama-bpe", kLlama3Stages, true, true},
    {"llama3", kLlama3Stages, true, true},
    {"llama-v3", kLlama3Stages, true, true},
    {"falcon3", kLlama3Stages, true, true},
    {"falcon-h1", kLlama3Stages, true, true},
    {"pixtral", kLlama3Stages, true, true},
    {"midm-2.0", kLlama3Stages, true, true},
    {"lfm2", kLlama3Stages, true, true},
    {"jina-v5-nano", kLlama3Stages, true, true},
    {"dbrx", kLlama3Stages},
    {"smaug-bpe", kLlama3Stages},
    {"chatglm-bpe", kLlama3Stages},
    {"glm4", kLlama3Stages, true},
    {"glm5", kLlama3Stages, true},
    {"jais-2", kJais2Stages},
    {"minicpm5", kMiniCpm5Stages, true},
    {"qwen2", kQwen2Stages, false, false, true},
    {"deepseek-r1-qwen", kQwen2Stages, false, false, true},
    {"kormo", kQwen2Stages},
    {"f2llmv2", kQwen2Stages, false, false, true},
    {"megrez", kQwen2Stages},
    {"stablelm2", kQwen2Stages},
    {"hunyuan", kQwen2Stages},
    {"solar-open", kQwen2Stages},
    {"grok-2", kQwen2Stages},
    // \s*[\r\n] ends at the same place as \s*[\r\n]+: the last line end of the run.
    {"bailingmoe", kQwen2Stages},
    {"bailingmoe2", kQwen2Stages},
    {"llada-moe", kQwen2Stages},
    {"qwen35", kQwen35Stages, false, false, true},
    {"ufakzeka", kNoContractionsStages},
    {"seed-coder", kSeedCoderStages},
    {"exaone-moe", kExaoneMoeStages},
    {"laguna", kLagunaStages},
    {"gpt-2", kGpt2Stages},
    {"phi-2", kGpt2Stages},
    {"jina-es", kGpt2Stages},
    {"jina-de", kGpt2Stages},
    {"jina-v1-en", kGpt2Stages},
    {"jina-v2-es", kGpt2Stages},
    {"jina-v2-de", kGpt2Stages},
    {"jina-v2-code", kGpt2Stages},
    {"roberta-bpe", kGpt2Stages},
    {"gigachat", kGpt2Stages},
    {"a.x-4.0", kGpt2Stages},
    {"mellum", kGpt2Stages},
    {"modern-bert", kGpt2Stages},
    {"exaone4", kGpt2Stages},
    {"mpt", kGpt2Stages},
    {"olmo", kGpt2Stages},
    {"jais", kGpt2Stages},
    {"trillion", kGpt2Stages},
    {"granite-docling", kGpt2Stages},
    {"starcoder", kEachNumberGpt2Stages},
    {"refact", kEachNumberGpt2Stages},
    {"command-r", kEachNumberGpt2Stages},
    {"smollm", kEachNumberGpt2Stages},
    {"codeshell", kEachNumberGpt2Stages},
    {"exaone", kEachNumberGpt2Stages},
    {"minerva-7b", kEachNumberGpt2Stages},
    {"mellum2", kEachNumberGpt2Stages},
    {"falcon", kFalconStages},
    {"deepseek-llm", kDeepseekLlmStages},
    {"deepseek-coder", kDeepseekCoderStages},
    {"deepseek-v3", kDeepseek3Stages},
    {"hunyuan-dense", kDeepseek3Stages},
    {"joyai-llm", kDeepseek3Stages},
    {"hy_v4", kDeepseek3Stages},
    {"spark2_5", kSparkStages},
    {"afmoe", kAfmoeStages},
    {"poro-chat", kBloomStages},
    {"bloom", kBloomStages},
    {"gpt3-finnish", kBloomStages},
    {"viking", kVikingStages},
    {"tekken", kTekkenStages, true, true},
    {"gpt-4o", kGpt4oStages},
    {"llama4", kGpt4oStages},
    {"kanana2", kGpt4oStages},
    {"talkie", kGpt4oStages},
    {"minimax-m2", kGpt4oStages},
    {"granite-embed-multi-97m", kGpt4oStages, true},
    {"tiny_aya", kTinyAyaStages},
    {"cohere2moe", kTinyAyaStages},
    {"kimi-k2", kKimiStages},
    {"youtu", kYoutuStages, true},
    {"chameleon", kChameleonStages, false, true},
    {"superbpe", kSuperBpeStages},
    {"gemma4", kLinePartStages, false, true, false, true},
    {"sarvam-moe", kLinePartStages, false, false, false, true},
    {"granite-embed-multi-311m", kLinePartStages, false, true, false, true},
};

// Expressions of tokenizer.json files that the rules above stand for.
struct Pattern {
  std::string_view regex;
  Stage stage;
};
constexpr Pattern kPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", kGpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kLlama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kQwen2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kQwen35},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kTekken},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kGpt4o},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kDeepseek3},
    {R"(\p{N}{1,3})", kNumberTriples},
    {R"(\p{N})", kEachNumber},
    {R"([0-9][0-9][0-9])", kDigitThrees},
    {"[\r\n]", kEachNewline},
    {R"([\r\n])", kEachNewline},
    {R"( ?[^(\s|[.,!?…。，、।۔،])]+)", kBloom},
    {R"( ?[^(\s|.,!?…。，、।۔،)]+)", kBloom},
    {"[一-龥\u3040-ゟ゠-ヿ]+", kHanKana},
};

}  // namespace

const Stage* find_pattern_rules(std::string_view regex) {
  const auto* row = std::ranges::find(kPatterns, regex, &Pattern::regex);
  return row == std::end(kPatterns) ? nullptr : &row->stage;
}

const Pretokenizer* find_pretokenizer(std::string_view name) {
  const auto* row = std::ranges::find(kPretokenizers, name, &Pretokenizer::name);
  return row == std::end(kPretokenizers) ? nullptr : row;
}

}  // namespace anedvd
