#include "lint/context.h"

#include <utility>

namespace tessera::lint {

void Context::Add(Severity severity, const Node& at, std::string_view code, std::string message, Remedy remedy) {
  findings_.push_back({.severity = severity,
                       .code = code,
                       .origin = object.At(at.path()),
                       .kind = object.kind,
                       .namespace_name = object.namespace_name,
                       .name = object.name,
                       .path = at.path(),
                       .message = std::move(message),
                       .advice = std::move(remedy.advice),
                       .fix = std::move(remedy.fix)});
}

void Context::Error(const Node& at, std::string_view code, std::string message, Remedy remedy) {
  Add(Severity::kError, at, code, std::move(message), std::move(remedy));
}

void Context::Warn(const Node& at, std::string_view code, std::string message, Remedy remedy) {
  Add(Severity::kWarning, at, code, std::move(message), std::move(remedy));
}

void Context::Note(const Node& at, std::string_view code, std::string message, Remedy remedy) {
  Add(Severity::kNote, at, code, std::move(message), std::move(remedy));
}

}  // namespace tessera::lint
