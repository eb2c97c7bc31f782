#include "wire/messages/field_codec.h"

#include <google/protobuf/io/coded_stream.h>

#include <bit>

#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Wire types of protobuf; 3 and 4 (groups) do not exist in proto3.
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr int kTagTypeBits = 3;
constexpr std::size_t kVarintBytesMax = 10;
// Most messages have fewer fields than this: one allocation.
constexpr std::size_t kFieldsReserved = 12;

std::uint32_t tag(int number, WireType type) {
  RR_ASSERT(number > 0);
  return static_cast<std::uint32_t>(number) << kTagTypeBits | type;
}

}  // namespace

void FieldWriter::put_varint(int number, std::uint64_t value) {
  std::uint8_t bytes[2 * kVarintBytesMax];
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag(number, kVarint), bytes);
  end = CodedOutputStream::WriteVarint64ToArray(value, end);
  out_.append(bytes, end);
}

void FieldWriter::put_double(int number, double value) {
  std::uint8_t bytes[kVarintBytesMax + sizeof value];
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag(number, kFixed64), bytes);
  end = CodedOutputStream::WriteLittleEndian64ToArray(std::bit_cast<std::uint64_t>(value), end);
  out_.append(bytes, end);
}

void FieldWriter::put_bytes(int number, std::string_view value) {
  std::uint8_t bytes[2 * kVarintBytesMax];
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag(number, kLengthDelimited), bytes);
  end = CodedOutputStream::WriteVarint64ToArray(value.size(), end);
  out_.append(bytes, end);
  out_.append(value);
}

base::Status FieldReader::parse(std::string_view bytes, int depth) {
  if (depth > kNestingMax || bytes.size() > kMessageBytesMax) {
    return base::fail(base::Errc::kLimit,
                      "cannot read a message: it is nested too deep or too long");
  }
  const auto corrupt = [] {
    return base::fail(base::Errc::kCorrupt, "cannot read a message: it is damaged");
  };
  depth_ = depth;
  fields_.clear();
  fields_.reserve(kFieldsReserved);
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  while (static_cast<std::size_t>(in.CurrentPosition()) < bytes.size()) {
    const std::uint32_t key = in.ReadTag();
    Field field;
    field.number = static_cast<int>(key >> kTagTypeBits);
    if (field.number == 0) return corrupt();
    std::uint32_t fixed32 = 0;
    int length = 0;
    switch (key & ((1U << kTagTypeBits) - 1)) {
      case kVarint:
        if (!in.ReadVarint64(&field.scalar)) return corrupt();
        break;
      case kFixed64:
        field.form = Form::kFixed64;
        if (!in.ReadLittleEndian64(&field.scalar)) return corrupt();
        break;
      case kLengthDelimited: {
        field.form = Form::kBytes;
        if (!in.ReadVarintSizeAsInt(&length)) return corrupt();
        const auto at = static_cast<std::size_t>(in.CurrentPosition());
        if (!in.Skip(length)) return corrupt();
        field.bytes = bytes.substr(at, static_cast<std::size_t>(length));
        break;
      }
      case kFixed32:  // no member has this wire type, so it is a newer version's field
        if (!in.ReadLittleEndian32(&fixed32)) return corrupt();
        continue;
      default: return corrupt();
    }
    if (fields_.size() == kFieldsMax) {
      return base::fail(base::Errc::kLimit, "cannot read a message: it has too many fields");
    }
    fields_.push_back(field);
  }
  return {};
}

const FieldReader::Field* FieldReader::last(int number, Form form) const {
  for (auto field = fields_.rbegin(); field != fields_.rend(); ++field) {
    if (field->number == number && field->form == form) return &*field;
  }
  return nullptr;
}

}  // namespace robustrun::wire
