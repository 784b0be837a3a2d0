#include "cel/type.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace tessera::cel {
namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::kDevice) + 1;

struct Word {
  std::string_view text;
  Kind kind;
};

constexpr std::array kWords{
    Word{"null", Kind::kNull},         Word{"bool", Kind::kBool},
    Word{"int", Kind::kInt},           Word{"uint", Kind::kUint},
    Word{"double", Kind::kDouble},     Word{"string", Kind::kString},
    Word{"bytes", Kind::kBytes},       Word{"timestamp", Kind::kTimestamp},
    Word{"duration", Kind::kDuration}, Word{"type", Kind::kType},
    Word{"list", Kind::kList},         Word{"map", Kind::kMap},
    Word{"optional", Kind::kOptional}, Word{"Quantity", Kind::kQuantity},
    Word{"Semver", Kind::kSemver},     Word{"IP", Kind::kIp},
    Word{"CIDR", Kind::kCidr},         Word{"URL", Kind::kUrl},
    Word{"Format", Kind::kFormat},     Word{"Device", Kind::kDevice},
};

// The name of a type in messages, which for a few differs from the name that type() gives.
std::string_view PrintedName(Kind kind) {
  if (kind == Kind::kTimestamp) return "timestamp";
  if (kind == Kind::kDuration) return "duration";
  if (kind == Kind::kNull) return "null";
  return TypeName(kind);
}

class TypeParser {
 public:
  TypeParser(std::string_view text, TypePool& pool) : text_(text), pool_(pool) {}

  Type Parse() {
    const Type type = One();
    if (!text_.empty()) Abort(Format("bad type notation near {}", Quote(text_)));
    return type;
  }

 private:
  Type One() {
    const std::size_t end = std::min(text_.find_first_of("<>,"), text_.size());
    const std::string_view word = Trim(text_.substr(0, end));
    text_.remove_prefix(end);
    std::vector<Type> arguments;
    if (text_.starts_with('<')) {
      do {
        text_.remove_prefix(1);
        arguments.push_back(One());
      } while (text_.starts_with(','));
      text_.remove_prefix(1);
    }
    return Named(word, std::move(arguments));
  }

  Type Named(std::string_view word, std::vector<Type> arguments) {
    if (word == "dyn") return DynType();
    if (word == "any") return AnyType();
    if (word.size() == 1) return pool_.Parameter(std::string(word));
    for (const Word& known : kWords) {
      if (known.text != word) continue;
      const Type simple = SimpleType(known.kind);
      return arguments.empty() ? simple : pool_.Rebuild(simple, std::move(arguments));
    }
    Abort(Format("no CEL type is called {}", Quote(word)));
  }

  std::string_view text_;
  TypePool& pool_;
};

}  // namespace

Type SimpleType(Kind kind) {
  static const std::array<TypeNode, kKinds> kTypes = [] {
    std::array<TypeNode, kKinds> types;
    for (std::size_t i = 0; i < kKinds; ++i) types[i].kind = static_cast<Kind>(i);
    return types;
  }();
  return &kTypes[static_cast<std::size_t>(kind)];
}

Type DynType() {
  static const TypeNode kType{.form = TypeForm::kDyn};
  return &kType;
}

Type AnyType() {
  static const TypeNode kType{.form = TypeForm::kAny};
  return &kType;
}

Type ErrorType() {
  static const TypeNode kType{.form = TypeForm::kError};
  return &kType;
}

Type TypePool::Rebuild(Type type, std::vector<Type> arguments) {
  return Add({.form = type->form, .kind = type->kind, .name = type->name, .arguments = std::move(arguments)});
}

std::string ToString(Type type) {
  switch (type->form) {
    case TypeForm::kDyn:
      return "dyn";
    case TypeForm::kAny:
      return "any";
    case TypeForm::kError:
      return "!error!";
    case TypeForm::kParameter:
      return type->name;
    case TypeForm::kConcrete:
      break;
  }
  std::vector<std::string> arguments;
  for (const Type argument : type->arguments) arguments.push_back(ToString(argument));
  const std::string_view name = PrintedName(type->kind);
  return arguments.empty() ? std::string(name) : Format("{}({})", name, Join(arguments, ", "));
}

Type ParseType(std::string_view text, TypePool& pool) { return TypeParser(text, pool).Parse(); }

}  // namespace tessera::cel
