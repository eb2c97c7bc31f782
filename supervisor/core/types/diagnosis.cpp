#include "supervisor/core/types/diagnosis.h"

namespace robustrun::supervisor {

const char* to_string(Diagnosed::Stage stage) {
  switch (stage) {
    case Diagnosed::Stage::kSuspected: return "suspected";
    case Diagnosed::Stage::kConvicted: return "convicted";
    case Diagnosed::Stage::kPassed: return "passed";
    case Diagnosed::Stage::kPostMortem: return "post-mortem";
    case Diagnosed::Stage::kRound: return "round";
  }
  return "unknown";
}

}  // namespace robustrun::supervisor
