#include "kubelet/answers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "base/text.h"
#include "kubelet/utf8.h"

namespace tessera::kubelet {

std::vector<api::ClaimRef> DistinctClaims(std::vector<api::ClaimRef> claims) {
  std::unordered_set<std::string> seen;
  std::erase_if(claims, [&](const api::ClaimRef& claim) { return !seen.insert(claim.uid).second; });
  return claims;
}

Answers MatchAnswers(std::span<const api::ClaimRef> asked, Answers given) {
  std::unordered_map<std::string_view, ClaimAnswer*> by_uid;
  for (ClaimAnswer& answer : given) by_uid.try_emplace(answer.uid, &answer);
  Answers matched;
  matched.reserve(asked.size());
  for (const api::ClaimRef& claim : asked) {
    auto found = by_uid.extract(claim.uid);
    if (found.empty()) {
      matched.push_back(
          {.uid = claim.uid,
           .error = Error(ErrorKind::kTransient, "NoAnswer", Format("claim {} was not answered", api::ToText(claim)),
                          "the kubelet tries again; look for errors in the plugin's log")});
    } else {
      matched.push_back(std::move(*found.mapped()));
    }
  }
  for (const auto& [uid, answer] : by_uid)
    log::Warning("Dropped the answer for a claim nobody asked for", {{"uid", uid}});
  return matched;
}

std::string ErrorText(const Error& error) {
  return ToUtf8(Format("{}: {}", error.code(), error.Text()), kMaxErrorText);
}

Deadline HandlerDeadline(std::chrono::nanoseconds client_timeout, Deadline now) {
  using std::chrono::seconds;
  constexpr seconds kKubeletTimeout{45};
  constexpr seconds kMargin{3};
  const auto left = std::clamp<std::chrono::nanoseconds>(client_timeout, seconds(0), kKubeletTimeout);
  return now +
         std::chrono::duration_cast<Deadline::duration>(left - std::min<std::chrono::nanoseconds>(kMargin, left / 4));
}

}  // namespace tessera::kubelet
