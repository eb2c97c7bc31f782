// A stack machine with a few instructions. Lists and maps are filled in place, so that a reference
// from the memo sees elements added later, as in Python. Tuples become lists.

#include "tracer/pickle.h"

#include <bit>
#include <cstring>

#include "tracer/limits.h"

namespace robustrun::tracer {
namespace {

using base::Errc;
using Index = Document::Index;

enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kBinFloat = 'G',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kMemoize = 0x94,
  kFrame = 0x95,
};
// Torch writes protocol 2; a dump loaded and rewritten by Python has protocol 4 or 5.
constexpr unsigned char kProtocolLeast = 2;
constexpr unsigned char kProtocolMost = 5;

// Names of some refused opcodes, for the error message; pickletools lists them all.
const char* name_of(unsigned char opcode) {
  switch (opcode) {
    case 'c': return "GLOBAL";
    case 'R': return "REDUCE";
    case 'b': return "BUILD";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 'P': return "PERSID";
    case 'Q': return "BINPERSID";
    case 'I': return "INT";
    case 0x81: return "NEWOBJ";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x92: return "NEWOBJ_EX";
    case 0x93: return "STACK_GLOBAL";
    default: return "unknown";
  }
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  base::Result<Document> run() && {
    while (!stopped_) {
      at_ = next_;
      const std::string_view opcode = RR_TRY(take(1));
      RR_TRY(step(static_cast<unsigned char>(opcode.front())));
    }
    if (next_ != bytes_.size()) return corrupt("data follows its end");
    return std::move(document_);
  }

 private:
  [[nodiscard]] std::unexpected<base::Error> corrupt(const std::string& what) const {
    return base::fail(Errc::kCorrupt, what + " (at byte " + std::to_string(at_) + ")");
  }

  base::Result<std::string_view> take(std::size_t size) {
    if (bytes_.size() - next_ < size) return corrupt("it is cut short");
    const std::string_view taken = bytes_.substr(next_, size);
    next_ += size;
    return taken;
  }

  // Little-endian.
  base::Result<std::uint64_t> take_number(std::size_t size) {
    const std::string_view taken = RR_TRY(take(size));
    std::uint64_t value = 0;
    std::memcpy(&value, taken.data(), size);
    return value;
  }

  base::Status push(base::Result<Index> value) {
    const Index index = RR_TRY(std::move(value));
    if (stack_.size() >= kPickleStackMax) {
      return base::fail(Errc::kLimit, "it needs a deeper stack than any dump does");
    }
    stack_.push_back(index);
    return {};
  }

  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  base::Result<Index> pop() {
    if (stack_.size() <= floor()) return corrupt("its stack is empty");
    const Index index = stack_.back();
    stack_.pop_back();
    return index;
  }

  // Pops the values pushed since the last mark.
  base::Result<std::vector<Index>> pop_to_mark() {
    if (marks_.empty()) return corrupt("a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }

  base::Status tuple(const std::vector<Index>& elements) {
    const Index list = RR_TRY(document_.add_list());
    for (const Index element : elements) {
      if (!document_.append(list, element)) return corrupt("a tuple is not a list");
    }
    return push(list);
  }

  base::Status short_tuple(std::size_t size) {
    std::vector<Index> elements(size);
    for (std::size_t i = size; i-- > 0;) elements[i] = RR_TRY(pop());
    return tuple(elements);
  }

  base::Status append() {
    const Index element = RR_TRY(pop());
    return append_all({element});
  }

  base::Status appends() { return append_all(RR_TRY(pop_to_mark())); }

  base::Status append_all(const std::vector<Index>& elements) {
    const Index list = RR_TRY(pop());
    for (const Index element : elements) {
      if (!document_.append(list, element))
        return corrupt("it appends to a value that is not a list");
    }
    return push(list);
  }

  base::Status set_item() {
    const Index value = RR_TRY(pop());
    const Index key = RR_TRY(pop());
    return set_all({key, value});
  }

  base::Status set_items() { return set_all(RR_TRY(pop_to_mark())); }

  base::Status set_all(const std::vector<Index>& items) {
    const Index map = RR_TRY(pop());
    if (items.size() % 2 != 0) return corrupt("a key has no value");
    for (std::size_t i = 0; i < items.size(); i += 2) {
      if (!document_.put(map, items[i], items[i + 1])) {
        return corrupt("it sets an item of a value that is not a dictionary");
      }
    }
    return push(map);
  }

  base::Status put(std::uint64_t number) {
    if (stack_.size() <= floor()) return corrupt("its stack is empty");
    if (number >= kPickleMemoMax) {
      return base::fail(Errc::kLimit, "it memoizes more values than any dump does");
    }
    // torch numbers without gaps, so the table never needs more room than the input.
    if (number > memo_.size()) return corrupt("it skips a number in its memo");
    if (number == memo_.size()) memo_.push_back(Document::kNull);
    memo_[number] = stack_.back();
    return {};
  }

  base::Status get(std::uint64_t number) {
    if (number >= memo_.size()) return corrupt("it uses a memo entry that was never set");
    return push(memo_[number]);
  }

  // A frame groups opcodes that Python writes at once; they are read like any others.
  base::Status frame() {
    const std::uint64_t size = RR_TRY(take_number(8));
    if (bytes_.size() - next_ < size) return corrupt("it is cut short");
    return {};
  }

  base::Status unicode(std::size_t size_bytes) {
    const std::uint64_t size = RR_TRY(take_number(size_bytes));
    const std::string_view text = RR_TRY(take(size));
    return push(document_.add_text(text));
  }

  base::Status big_float() {
    const std::string_view taken = RR_TRY(take(8));
    std::uint64_t bits = 0;
    for (const char byte : taken) bits = bits << 8 | static_cast<unsigned char>(byte);
    return push(document_.add_number(std::bit_cast<double>(bits)));
  }

  // Two's complement of any length up to eight bytes; torch writes eight.
  base::Status long_integer() {
    const std::uint64_t size = RR_TRY(take_number(1));
    if (size > 8) return corrupt("a number has more than 64 bits");
    const std::string_view taken = RR_TRY(take(size));
    const bool negative = size > 0 && static_cast<signed char>(taken.back()) < 0;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, taken.data(), size);
    return push(document_.add_integer(static_cast<std::int64_t>(value)));
  }

  base::Status small_integer(std::size_t size) {
    const std::uint64_t value = RR_TRY(take_number(size));
    const auto whole = size == 4 ? static_cast<std::int32_t>(value)  // the only one with a sign
                                 : static_cast<std::int64_t>(value);
    return push(document_.add_integer(whole));
  }

  base::Status stop() {
    if (!marks_.empty()) return corrupt("a mark is left on its stack");
    document_.set_root(RR_TRY(pop()));
    if (!stack_.empty()) return corrupt("it holds more than one value");
    stopped_ = true;
    return {};
  }

  base::Status mark() {
    if (marks_.size() >= kDocumentDepthMax) {
      return base::fail(Errc::kLimit, "it is nested too deeply");
    }
    marks_.push_back(stack_.size());
    return {};
  }

  base::Status step(unsigned char opcode);

  std::string_view bytes_;
  std::size_t next_ = 0;
  std::size_t at_ = 0;  // offset of the current instruction
  Document document_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::vector<Index> memo_;
  bool stopped_ = false;
};

base::Status Machine::step(unsigned char opcode) {
  switch (opcode) {
    case kMark: return mark();
    case kStop: return stop();
    case kBinInt: return small_integer(4);
    case kBinInt1: return small_integer(1);
    case kBinInt2: return small_integer(2);
    case kNone: return push(Document::kNull);
    case kBinUnicode: return unicode(4);
    case kShortBinUnicode: return unicode(1);
    case kEmptyList: return push(document_.add_list());
    case kAppend: return append();
    case kAppends: return appends();
    case kBinGet: return get(RR_TRY(take_number(1)));
    case kLongBinGet: return get(RR_TRY(take_number(4)));
    case kBinPut: return put(RR_TRY(take_number(1)));
    case kLongBinPut: return put(RR_TRY(take_number(4)));
    case kMemoize: return put(memo_.size());
    case kFrame: return frame();
    case kTuple: return tuple(RR_TRY(pop_to_mark()));
    case kSetItem: return set_item();
    case kSetItems: return set_items();
    case kEmptyDict: return push(document_.add_map());
    case kBinFloat: return big_float();
    case kEmptyTuple: return tuple({});
    case kTuple1: return short_tuple(1);
    case kTuple2: return short_tuple(2);
    case kTuple3: return short_tuple(3);
    case kNewTrue: return push(Document::kTrue);
    case kNewFalse: return push(Document::kFalse);
    case kLong1: return long_integer();
    case kProto: {
      if (at_ != 0) return corrupt("a second pickle begins");
      const std::uint64_t version = RR_TRY(take_number(1));
      if (version < kProtocolLeast || version > kProtocolMost) {
        return corrupt("its protocol is not one of 2 to 5");
      }
      return {};
    }
    default: {
      constexpr std::string_view kDigits = "0123456789abcdef";
      std::string what = "opcode 0x";
      what += kDigits[opcode >> 4];
      what += kDigits[opcode & 15];
      return corrupt(what + " (" + name_of(opcode) + ") is refused: no dump by torch uses it");
    }
  }
}

}  // namespace

bool looks_like_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<unsigned char>(bytes[0]) == kProto &&
         static_cast<unsigned char>(bytes[1]) <= kProtocolMost;
}

base::Result<Document> read_pickle(std::string_view bytes) {
  if (bytes.size() > kDocumentBytesMax) {
    return base::fail(Errc::kLimit,
                      "it is longer than " + std::to_string(kDocumentBytesMax) + " bytes");
  }
  if (!looks_like_pickle(bytes)) return base::fail(Errc::kCorrupt, "it is not a pickle");
  return Machine(bytes).run();
}

}  // namespace robustrun::tracer
