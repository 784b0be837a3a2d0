#include "driver/claim_faults.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::driver {

void ClaimFaults::Add(const api::AllocationResult& result, const Error& error) {
  Add(error, Format("request {} ({})", result.request, result.device));
}

void ClaimFaults::Add(const api::PreparedDevice& device, const Error& error) {
  Add(error, Format("request {} ({})", Join(device.requests, ", "), device.name));
}

void ClaimFaults::Add(const Error& error, const std::string& place) {
  auto found = std::ranges::find(faults_, error, &Fault::error);
  if (found == faults_.end()) found = faults_.insert(faults_.end(), Fault{error, {}});
  if (!place.empty()) found->places.push_back(place);
}

Error ClaimFaults::AsError() const {
  const auto lasting = [](const Fault& fault) { return fault.error.kind() != ErrorKind::kTransient; };
  auto first = std::ranges::find_if(faults_, lasting);
  if (first == faults_.end()) first = faults_.begin();
  std::vector<std::string> texts;
  for (const Fault& fault : faults_) {
    const std::string where = fault.places.empty() ? "" : Join(fault.places, ", ") + ": ";
    texts.push_back(where + (faults_.size() == 1 ? fault.error.message() : fault.error.Text()));
  }
  return {first->error.kind(), first->error.code(), Join(texts, "; "),
          faults_.size() == 1 ? first->error.advice() : std::string()};
}

void NameEachOther(const std::vector<api::ClaimRef>& claims, kubelet::Answers& answers) {
  std::vector<std::string> texts(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].error)
      texts[i] = Format("claim {} failed as well: {}", api::ToText(claims[i]), answers[i].error->Text());
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].error) continue;
    std::string all = answers[i].error->Text();
    for (std::size_t other = 0; other < texts.size(); ++other) {
      if (other != i && !texts[other].empty()) all += "; " + texts[other];
    }
    if (all.size() == answers[i].error->Text().size()) return;  // It is the only one.
    answers[i].error = Error(answers[i].error->kind(), answers[i].error->code(), std::move(all));
  }
}

}  // namespace tessera::driver
