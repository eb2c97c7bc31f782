#pragma once
// Plain values as JSON and pickles hold them: the tree between those two forms and what is read out
// of it.
//
// Values lie in one table and refer to each other by number, because a pickle may use one list a
// thousand times, or put it into itself. So nothing here may walk a whole tree by recursion, and
// whoever copies out of it counts what he copies. Pure; bounded by limits.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/core/result.h"

namespace robustrun::tracer {

class Document;

// A view of one value, or of none: what is asked of the wrong kind of value, or of none, is none.
// Valid while its document is where it was.
class Value {
 public:
  Value() = default;
  [[nodiscard]] explicit operator bool() const { return document_ != nullptr; }
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // Also an integer written as text, as torch does in JSON.
  [[nodiscard]] std::optional<std::int64_t> integer_or_digits() const;
  [[nodiscard]] std::optional<double> number() const;  // also of an integer
  [[nodiscard]] std::optional<std::string_view> text() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_map() const;
  [[nodiscard]] std::size_t size() const;  // elements or members; else 0
  [[nodiscard]] Value at(std::size_t i) const;  // of a list
  [[nodiscard]] Value operator[](std::string_view key) const;  // of a map, in O(size)
  // Of a map; the key is empty when it is no text.
  [[nodiscard]] std::pair<std::string_view, Value> member(std::size_t i) const;

 private:
  friend class Document;
  Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class Document {
 public:
  using Index = std::uint32_t;
  // Numbers of these values in every document.
  static constexpr Index kNull = 0;
  static constexpr Index kFalse = 1;
  static constexpr Index kTrue = 2;

  Document();
  // kLimit: more values than a document may have.
  [[nodiscard]] base::Result<Index> add_integer(std::int64_t value);
  [[nodiscard]] base::Result<Index> add_number(double value);
  [[nodiscard]] base::Result<Index> add_text(std::string_view value);
  [[nodiscard]] base::Result<Index> add_list();
  [[nodiscard]] base::Result<Index> add_map();
  // `list` must be a list, `map` a map; false: it is not, and nothing happens.
  [[nodiscard]] bool append(Index list, Index element);
  [[nodiscard]] bool put(Index map, Index key, Index value);

  void set_root(Index index) { root_ = index; }
  [[nodiscard]] Value root() const { return {this, root_}; }

 private:
  friend class Value;
  struct List {
    std::vector<Index> elements;
  };
  struct Map {
    std::vector<std::pair<Index, Index>> members;
  };
  using Node = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map>;
  base::Result<Index> add(Node node);
  template <class T>
  [[nodiscard]] const T* get(Index index) const {
    return std::get_if<T>(&nodes_[index]);
  }

  std::vector<Node> nodes_;
  Index root_ = kNull;
};

// A JSON text. kCorrupt: it is none; kLimit: more or deeper than limits.h allows.
[[nodiscard]] base::Result<Document> read_json(std::string_view text);

}  // namespace robustrun::tracer
