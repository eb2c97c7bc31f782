// R6: members of a communicator have entered different operations under the same ordinal.
//
// Considers only ordinals that not all members have finished, because finished operations block no
// rank. A majority of all members, seen or not, decides which ones deviate. Without a majority
// neither side is proven healthy, and both are named if all members were seen.
//
// A rank that leaves out an operation which looks like the next ones hangs only much later. Tags
// that the user gives to calls show it: members that always had the same tags under the same
// ordinals, and from some ordinal on do not.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct Call {  // what one member called under one ordinal
  std::uint64_t ordinal = 0;
  Signature signature;
  std::uint32_t at = 0;
  [[nodiscard]] auto key() const {
    const Signature& s = signature;
    return std::tuple(ordinal, s.kind, s.type, s.count, s.root);
  }
};

struct Dispute {
  std::uint64_t ordinal = 0;
  Signature usual;
  Signature other;  // of the first that differs from it
  std::vector<std::uint32_t> agreeing;
  std::vector<std::uint32_t> deviating;
  std::uint64_t usual_tag = 0, other_tag = 0;  // 0: not what they disagree about
};

bool is_comparable(const Signature& s) {
  return s.kind != OpKind::kUnknown && s.kind != OpKind::kOther && !is_point_to_point(s.kind);
}

// Whether two signatures differ. Unknown parts agree with everything.
bool disagree(const Signature& a, const Signature& b) {
  if (a.kind != b.kind) return true;
  const auto known = [](DataType t) { return t != DataType::kUnknown; };
  if (known(a.type) && known(b.type) && a.type != b.type) return true;
  const bool has_sizes = a.count > 0 && b.count > 0 && !may_differ_in_size(a.kind);
  if (has_sizes && a.kind != OpKind::kBarrier && a.count != b.count) return true;
  return a.root >= 0 && b.root >= 0 && a.root != b.root;
}

// All known calls of collectives that some member has not finished.
std::vector<Call> unfinished(const FleetView& view, const Communicator& comm) {
  std::uint64_t head = UINT64_MAX;
  for (const Member& member : comm.members) {
    if (member.counts && !view.is_dead(member.at)) head = std::min(head, member.ordinal);
  }
  std::vector<Call> calls;
  for (const Member& member : comm.members) {
    if (!member.counts) continue;
    const auto add = [&](std::uint64_t ordinal, const Signature& signature) {
      if (ordinal >= head && is_comparable(signature)) {
        calls.push_back({ordinal, signature, member.at});
      }
    };
    for (const Past& past : member.view->recent) add(past.ordinal, past.signature);
    for (const Operation& pending : member.view->pending) add(pending.ordinal, pending.signature);
  }
  std::ranges::sort(calls, {}, [](const Call& s) { return std::pair(s.ordinal, s.at); });
  const auto same = [](const Call& a, const Call& b) {
    return a.ordinal == b.ordinal && a.at == b.at;
  };
  calls.erase(std::ranges::unique(calls, same).begin(), calls.end());
  std::ranges::sort(calls, {}, [](const Call& s) { return std::pair(s.key(), s.at); });
  return calls;
}

// The first ordinal about which members disagree.
std::optional<Dispute> dispute_of(const std::vector<Call>& calls) {
  for (std::size_t begin = 0; begin < calls.size();) {
    std::size_t end = begin;
    std::size_t usual = begin;
    std::size_t most = 0;
    while (end < calls.size() && calls[end].ordinal == calls[begin].ordinal) {
      std::size_t same = end;
      while (same < calls.size() && calls[same].key() == calls[end].key()) ++same;
      if (same - end > most) {
        most = same - end;
        usual = end;
      }
      end = same;
    }
    Dispute dispute;
    dispute.ordinal = calls[begin].ordinal;
    dispute.usual = calls[usual].signature;
    for (std::size_t i = begin; i < end; ++i) {
      if (!disagree(calls[i].signature, dispute.usual)) {
        dispute.agreeing.push_back(calls[i].at);
        continue;
      }
      if (dispute.deviating.empty()) dispute.other = calls[i].signature;
      dispute.deviating.push_back(calls[i].at);
    }
    if (!dispute.deviating.empty()) return dispute;
    begin = end;
  }
  return std::nullopt;
}

// The first ordinal under which members have different tags, after kTagsAlikeLeast with the same.
std::optional<Dispute> dispute_by_tags(const Communicator& comm) {
  std::map<std::uint64_t, std::vector<const Past*>> by_ordinal;  // by member
  for (std::size_t m = 0; m < comm.members.size(); ++m) {
    for (const Past& past : comm.members[m].view->recent) {
      std::vector<const Past*>& row = by_ordinal[past.ordinal];
      if (past.tag != 0 && row.size() == m) row.push_back(&past);
    }
  }
  std::size_t alike = 0;
  for (const auto& [ordinal, row] : by_ordinal) {
    if (row.size() != comm.members.size()) continue;
    std::map<std::uint64_t, std::size_t> counts;
    for (const Past* past : row) ++counts[past->tag];
    if (counts.size() == 1) {
      ++alike;
      continue;
    }
    if (alike < kTagsAlikeLeast) return std::nullopt;  // tags of these members mean other things
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    Dispute dispute;
    dispute.ordinal = ordinal;
    dispute.usual_tag = most->first;
    for (std::size_t m = 0; m < row.size(); ++m) {
      const bool is_usual = row[m]->tag == dispute.usual_tag;
      (is_usual ? dispute.agreeing : dispute.deviating).push_back(comm.members[m].at);
      (is_usual ? dispute.usual : dispute.other) = row[m]->signature;
      if (!is_usual && dispute.other_tag == 0) dispute.other_tag = row[m]->tag;
    }
    return dispute;
  }
  return std::nullopt;
}

// Without a majority among the members: whether most members of other groups of the same name call
// this operation like the usual side (true) or like the other side (false). None: neither.
std::optional<bool> usual_elsewhere(const Case& facts, const Communicator& comm,
                                    const Dispute& dispute) {
  const std::string& name = comm.members.front().view->name;
  if (!facts.view.fleet().at_rest || name.empty()) return std::nullopt;
  std::size_t usual = 0, other = 0, all = 0;
  for (const Communicator& like : facts.view.comms()) {
    if (like.key == comm.key || like.members.front().view->name != name) continue;
    for (const Member& member : like.members) {
      const auto& recent = member.view->recent;
      const auto past = std::ranges::find(recent, dispute.ordinal, &Past::ordinal);
      if (past == recent.end() || !is_comparable(past->signature)) continue;
      ++all;
      usual += disagree(past->signature, dispute.usual) ? 0 : 1;
      other += disagree(past->signature, dispute.other) ? 0 : 1;
    }
  }
  if (usual == other || std::max(usual, other) * 2 <= all) return std::nullopt;
  return usual > other;
}

std::vector<Blame> blames_of(std::vector<std::uint32_t> ats, const Wait& wait,
                             const Dispute& dispute) {
  std::vector<Blame> blames;
  for (const std::uint32_t at : ats) {
    Blame blame;
    blame.at = at;
    blame.comm = wait.comm;
    blame.ordinal = dispute.ordinal;
    blame.signature = dispute.usual;
    blame.age = wait.age;
    blames.push_back(blame);
  }
  return blames;
}

Verdict verdict_of(const Case& facts, const Wait& wait, Dispute dispute) {
  const Communicator& comm = facts.view.comms()[wait.comm];
  bool is_majority = dispute.agreeing.size() * 2 > comm.size;
  const bool is_whole = dispute.agreeing.size() + dispute.deviating.size() == comm.size;
  const bool is_by_tags = dispute.usual_tag != 0;
  const std::optional<bool> elsewhere =
      is_majority || !is_whole || is_by_tags ? std::nullopt : usual_elsewhere(facts, comm, dispute);
  if (elsewhere) {
    is_majority = true;
    if (!*elsewhere) {
      std::swap(dispute.usual, dispute.other);
      std::swap(dispute.agreeing, dispute.deviating);
    }
  }
  const std::string where =
      fmt::format("operation #{} ({})", dispute.ordinal, group_text(facts.view, comm));
  std::vector<std::uint32_t> both = dispute.deviating;
  both.insert(both.end(), dispute.agreeing.begin(), dispute.agreeing.end());
  Accusation made = accuse(facts, Finding::kMismatch,
                           blames_of(is_majority ? dispute.deviating : both, wait, dispute));
  add_members(facts, wait.comm, made);
  Verdict& verdict = made.verdict;
  verdict.confidence = is_majority && !elsewhere ? Confidence::kMajority : Confidence::kInferred;
  const auto side = [&](const std::vector<std::uint32_t>& ats, const Signature& signature) {
    std::string text = fmt::format("{} {} {}", ranks_text(facts.view, ats),
                                   ats.size() > 1 ? "call" : "calls", signature_text(signature));
    if (is_by_tags) {
      const bool is_usual = &signature == &dispute.usual;
      text += fmt::format(" with tag {}", is_usual ? dispute.usual_tag : dispute.other_tag);
    }
    return text;
  };
  std::vector<std::uint32_t> usual = dispute.agreeing;
  std::ranges::sort(usual);
  std::ranges::sort(both);
  const std::string sides =
      side(dispute.deviating, dispute.other) + ", " + side(usual, dispute.usual);
  if (is_majority) {
    verdict.sentence = fmt::format("{} as {}, but {}", side(dispute.deviating, dispute.other),
                                   where, side(usual, dispute.usual));
  } else {
    verdict.sentence =
        fmt::format("{} disagree about {}: {}", ranks_text(facts.view, both), where, sides);
    if (both.size() < comm.size) {  // unseen members could make either side the majority
      verdict.culprits.clear();
      verdict.nodes.clear();
    }
  }
  if (elsewhere) verdict.sentence += ", as do other groups of that name";
  if (verdict.lasting > base::Nanos{}) {
    verdict.sentence += "; no progress" + for_text(verdict.lasting);
  }
  verdict.evidence.insert(verdict.evidence.begin(), where + ": " + sides);
  return verdict;
}

}  // namespace

std::optional<Verdict> rule_mismatch(const Case& facts) {
  std::vector<bool> seen(facts.view.comms().size(), false);
  for (const Wait& wait : facts.graph.waits()) {  // the longest first
    if (wait.peer >= 0 || seen[wait.comm]) continue;
    seen[wait.comm] = true;
    const std::optional<Dispute> dispute =
        dispute_of(unfinished(facts.view, facts.view.comms()[wait.comm]));
    if (dispute) return verdict_of(facts, wait, *dispute);
    if (auto by_tags = dispute_by_tags(facts.view.comms()[wait.comm])) {
      return verdict_of(facts, wait, *std::move(by_tags));
    }
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
