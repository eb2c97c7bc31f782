#include "wire/bulk/block_exchange.h"

#include <algorithm>

#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

constexpr std::string_view kQuestionMagic = "RRBq";
constexpr std::string_view kBlockAnswerMagic = "RRBa";

template <class T>
void append_number(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <class T>
T cut_number(std::string_view& in) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(in[i])) << (8 * i);
  }
  in.remove_prefix(sizeof value);
  return value;
}

unsigned digit_value(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

std::string raw_key(std::string_view hex) {
  std::string raw;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    raw.push_back(static_cast<char>(digit_value(hex[i]) << 4U | digit_value(hex[i + 1])));
  }
  return raw;
}

std::string hex_key(std::string_view raw) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : raw) {
    hex.push_back(kDigits[static_cast<unsigned char>(byte) >> 4U]);
    hex.push_back(kDigits[static_cast<unsigned char>(byte) & 15U]);
  }
  return hex;
}

}  // namespace

bool is_blob_name(std::string_view text) {
  return text.size() == kBlobKeyBytes && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string to_bytes(const BlockQuestion& question) {
  RR_ASSERT(is_blob_name(question.name.blob));
  std::string out(kQuestionMagic);
  append_number(out, question.id);
  append_number(out, static_cast<std::uint32_t>(question.scope));
  append_number(out, std::uint32_t{0});
  out += raw_key(question.name.blob);
  append_number(out, question.name.block);
  RR_ASSERT(out.size() == kBlockQuestionBytes);
  return out;
}

std::string to_bytes(const BlockAnswer& answer) {
  std::string out(kBlockAnswerMagic);
  append_number(out, answer.id);
  append_number(out, static_cast<std::uint32_t>(answer.verdict));
  append_number(out, answer.bytes);
  append_number(out, answer.sum.low);
  append_number(out, answer.sum.high);
  append_number(out, std::uint64_t{0});
  RR_ASSERT(out.size() == kBlockAnswerBytes);
  return out;
}

base::Result<BlockQuestion> parse_block_question(std::string_view bytes) {
  if (bytes.size() != kBlockQuestionBytes || !bytes.starts_with(kQuestionMagic)) {
    return base::fail(base::Errc::kProtocol,
                      "the caller's question is not in the format of blocks");
  }
  bytes.remove_prefix(kQuestionMagic.size());
  BlockQuestion question;
  question.id = cut_number<std::uint32_t>(bytes);
  const auto scope = cut_number<std::uint32_t>(bytes);
  const auto nothing = cut_number<std::uint32_t>(bytes);
  if (scope > static_cast<std::uint32_t>(BlockScope::kStored) || nothing != 0) {
    return base::fail(base::Errc::kProtocol, "the caller's request is of an unknown kind");
  }
  question.scope = static_cast<BlockScope>(scope);
  question.name.blob = hex_key(bytes.substr(0, kBlobKeyBytes / 2));
  bytes.remove_prefix(kBlobKeyBytes / 2);
  question.name.block = cut_number<std::uint64_t>(bytes);
  return question;
}

base::Result<BlockAnswer> parse_block_answer(std::string_view bytes) {
  if (bytes.size() != kBlockAnswerBytes || !bytes.starts_with(kBlockAnswerMagic)) {
    return base::fail(base::Errc::kProtocol, "the peer's answer is not in the expected format");
  }
  bytes.remove_prefix(kBlockAnswerMagic.size());
  BlockAnswer answer;
  answer.id = cut_number<std::uint32_t>(bytes);
  const auto verdict = cut_number<std::uint32_t>(bytes);
  answer.verdict = static_cast<BlockVerdict>(verdict);
  answer.bytes = cut_number<std::uint32_t>(bytes);
  answer.sum.low = cut_number<std::uint64_t>(bytes);
  answer.sum.high = cut_number<std::uint64_t>(bytes);
  const auto nothing = cut_number<std::uint64_t>(bytes);
  if (verdict > static_cast<std::uint32_t>(BlockVerdict::kComing) || nothing != 0) {
    return base::fail(base::Errc::kProtocol, "the peer's answer is of an unknown kind");
  }
  const bool has_bytes = answer.verdict == BlockVerdict::kHere;
  if (has_bytes != (answer.bytes > 0) || answer.bytes > kBlockBytesMax ||
      (!has_bytes && answer.sum != base::Hash128{})) {
    return base::fail(base::Errc::kProtocol, "the peer's block has an impossible length");
  }
  return answer;
}

}  // namespace robustrun::wire
