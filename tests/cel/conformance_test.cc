// cel-spec's conformance tests, with the libraries that device selectors have. What is left out is listed, with the
// reason; a test that is listed and passes is an error as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "cel/checker.h"
#include "cel/environment.h"
#include "cel/evaluator.h"
#include "cel/generator.h"
#include "cel/map_builder.h"
#include "cel/number_text.h"
#include "cel/parser.h"
#include "tests/cel/textproto.h"
#include "tests/support/paths.h"

namespace tessera::cel {
namespace {

// Thrown for what device selectors do not have.
struct LeftOut {
  enum Reason : std::uint8_t { kMessages, kContainer, kOwnFunctions } reason;
};

std::int64_t Integer(const Message& message, std::string_view field) {
  return message.Has(field) ? ParseNumber<std::int64_t>(message.Text(field)).value() : 0;
}

Value ObjectValue(const Message& object) {
  const Field& field = object.fields.at(0);
  const auto nanos = static_cast<std::int32_t>(Integer(field.message, "nanos"));
  if (field.name == "[type.googleapis.com/google.protobuf.Timestamp]") {
    return Value::Time({Integer(field.message, "seconds"), nanos});
  }
  if (field.name == "[type.googleapis.com/google.protobuf.Duration]") {
    return Value::Duration(Integer(field.message, "seconds") * 1'000'000'000 + nanos);
  }
  throw LeftOut{LeftOut::kMessages};
}

Value ToValue(Arena& arena, const Message& message);

Value ListValue(Arena& arena, const Message& list) {
  std::vector<Value> items;
  for (const Field* field : list.All("values")) items.push_back(ToValue(arena, field->message));
  const std::span<Value> room = arena.Room<Value>(items.size());
  std::ranges::copy(items, room.begin());
  return Value::List(room);
}

Value MapValue(Arena& arena, const Message& map) {
  const auto entries = map.All("entries");
  MapBuilder builder(arena, entries.size());
  for (const Field* entry : entries) {
    builder.Add(ToValue(arena, entry->message.Child("key")), ToValue(arena, entry->message.Child("value")));
  }
  return builder.Build();
}

// A cel.expr.Value.
Value ToValue(Arena& arena, const Message& message) {
  if (message.fields.empty()) return Value();
  const Field& field = message.fields.front();
  if (field.name == "null_value") return Value();
  if (field.name == "bool_value") return Value::Bool(field.text == "true");
  if (field.name == "int64_value") return Value::Int(ParseNumber<std::int64_t>(field.text).value());
  if (field.name == "uint64_value") return Value::Uint(ParseNumber<std::uint64_t>(field.text).value());
  if (field.name == "double_value") return Value::Double(ParseDouble(field.text).value());
  if (field.name == "string_value") return Value::String(arena.Copy(field.text));
  if (field.name == "bytes_value") return Value::Bytes(arena.Copy(field.text));
  if (field.name == "type_value") return Value::Type(arena.Copy(field.text));
  if (field.name == "list_value") return ListValue(arena, field.message);
  if (field.name == "map_value") return MapValue(arena, field.message);
  if (field.name == "object_value") return ObjectValue(field.message);
  throw LeftOut{LeftOut::kMessages};
}

Type PrimitiveType(std::string_view name) {
  static const std::map<std::string_view, Kind> kKinds{{"BOOL", Kind::kBool},     {"INT64", Kind::kInt},
                                                       {"UINT64", Kind::kUint},   {"DOUBLE", Kind::kDouble},
                                                       {"STRING", Kind::kString}, {"BYTES", Kind::kBytes}};
  return SimpleType(kKinds.at(name));
}

// A cel.expr.Type.
Type ToType(TypePool& pool, const Message& message) {
  if (message.fields.empty()) return DynType();
  const Field& field = message.fields.front();
  if (field.name == "primitive") return PrimitiveType(field.text);
  if (field.name == "dyn") return DynType();
  if (field.name == "null") return SimpleType(Kind::kNull);
  if (field.name == "list_type") return pool.List(ToType(pool, field.message.Child("elem_type")));
  if (field.name == "map_type") {
    return pool.Map(ToType(pool, field.message.Child("key_type")), ToType(pool, field.message.Child("value_type")));
  }
  if (field.name == "type") return pool.TypeOf(ToType(pool, field.message));
  if (field.name == "abstract_type" && field.message.Text("name") == "optional_type") {
    return pool.Optional(ToType(pool, field.message.Child("parameter_types")));
  }
  if (field.name == "message_type" && field.text == "google.protobuf.Duration") return SimpleType(Kind::kDuration);
  if (field.name == "well_known" && field.text == "TIMESTAMP") return SimpleType(Kind::kTimestamp);
  if (field.name == "well_known" && field.text == "DURATION") return SimpleType(Kind::kDuration);
  throw LeftOut{LeftOut::kMessages};
}

bool Identical(Arena& arena, const Value& a, const Value& b);

bool IdenticalLists(Arena& arena, std::span<const Value> a, std::span<const Value> b) {
  return std::ranges::equal(a, b, [&](const Value& x, const Value& y) { return Identical(arena, x, y); });
}

bool IdenticalMaps(Arena& arena, const MapView& a, const MapView& b) {
  if (a.Size() != b.Size()) return false;
  for (std::size_t i = 0; i < a.Size(); ++i) {
    const auto [key, value] = a.At(arena, i);
    const auto other = b.Find(arena, key);
    if (!other || !Identical(arena, value, *other)) return false;
  }
  return true;
}

// As == but with types and with NaN equal to itself.
bool Identical(Arena& arena, const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.Is(Kind::kDouble) && std::isnan(a.AsDouble()) && std::isnan(b.AsDouble())) return true;
  if (a.Is(Kind::kList)) return IdenticalLists(arena, a.AsList(), b.AsList());
  if (a.Is(Kind::kMap)) return IdenticalMaps(arena, a.AsMap(), b.AsMap());
  return Equal(arena, a, b) == Equality::kEqual;
}

class Case {
 public:
  explicit Case(const Message& test) : test_(test), expression_(test.Text("expr")) {}

  // Empty when it passed; otherwise what went wrong.
  std::string Run() {
    ReadVariables();
    const auto ast = Parse(expression_);
    if (!ast) return Refused(Render(expression_, ast.error()));
    for (const Node& node : ast->nodes) {
      if (node.kind == NodeKind::kStruct) throw LeftOut{LeftOut::kMessages};
    }
    if (!test_.Text("container").empty()) throw LeftOut{LeftOut::kContainer};
    const FunctionSet& functions = FunctionsFor({});
    if (test_.Text("disable_check") != "true") {
      const auto checked = Check(*ast, variables_, functions, {.homogeneous_literals = false});
      if (!checked) return Refused(Render(expression_, checked.error()));
      const Message& typed = test_.Child("typed_result");
      if (typed.Has("deduced_type")) {
        const std::string wanted = ToString(ToType(pool_, typed.Child("deduced_type")));
        if (ToString(checked->result) != wanted) return "type " + ToString(checked->result) + ", wanted " + wanted;
      }
    }
    if (test_.Text("check_only") == "true") return {};
    return Judge(Evaluate(Generate(*ast, nullptr, variables_, functions), values_, arena_));
  }

 private:
  bool ExpectsError() const { return test_.Has("eval_error") || test_.Has("any_eval_errors"); }
  std::string Refused(std::string why) const { return ExpectsError() ? std::string() : std::move(why); }

  void ReadVariables() {
    for (const Field* declaration : test_.All("type_env")) {
      if (!declaration->message.Has("ident")) throw LeftOut{LeftOut::kOwnFunctions};
      variables_.push_back(
          {declaration->message.Text("name"), ToType(pool_, declaration->message.Child("ident").Child("type"))});
    }
    values_.resize(variables_.size());
    for (const Field* binding : test_.All("bindings")) {
      const std::string name = binding->message.Text("key");
      auto found = std::ranges::find(variables_, name, &Variable::name);
      if (found == variables_.end()) {
        variables_.push_back({name, DynType()});
        values_.emplace_back();
        found = variables_.end() - 1;
      }
      const auto index = static_cast<std::size_t>(found - variables_.begin());
      values_[index] = ToValue(arena_, binding->message.Child("value").Child("value"));
    }
  }

  std::string Judge(const Outcome& outcome) {
    if (ExpectsError()) return outcome.value.IsError() ? "" : "no error, but " + ForMessage(outcome.value);
    if (outcome.value.IsError()) return std::string(outcome.value.AsText());
    const Message& typed = test_.Child("typed_result");
    const bool any = !test_.Has("value") && !typed.Has("result");
    const Value wanted =
        any ? Value::Bool(true) : ToValue(arena_, test_.Has("value") ? test_.Child("value") : typed.Child("result"));
    return Identical(arena_, outcome.value, wanted) ? "" : "it is " + Show(outcome.value) + ", wanted " + Show(wanted);
  }

  static std::string Show(const Value& value) { return Format("{} {}", TypeName(value), Quote(ForMessage(value))); }

  const Message& test_;
  std::string expression_;
  Arena arena_;
  TypePool pool_;
  std::vector<Variable> variables_;
  std::vector<Value> values_;
};

struct Exception {
  std::string_view test;
  std::string_view reason;
};

constexpr std::string_view kNoReverse = "Kubernetes has version 2 of the strings extension, which does not reverse";
constexpr std::string_view kOlderFormat =
    "Kubernetes has version 2 of the strings extension, whose format() takes and prints numbers, lists and maps "
    "otherwise";
constexpr std::string_view kBeyondTheEnd = "cel-go, and so Kubernetes, answers -1 for a position beyond the end";

constexpr std::string_view kRepeatedKey = "cel-go, and so Kubernetes, takes the last of repeated keys";

constexpr Exception kExceptions[]{
    {"fields/qualified_identifier_resolution/map_key_float", "cel-go, and so Kubernetes, takes doubles as keys"},
    {"fields/qualified_identifier_resolution/map_value_repeat_key", kRepeatedKey},
    {"fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous", kRepeatedKey},
    {"string_ext/format/NaN support for decimal", kOlderFormat},
    {"string_ext/format/NaN support for scientific notation", kOlderFormat},
    {"string_ext/format/default precision for fixed-point clause with int", kOlderFormat},
    {"string_ext/format/default precision for fixed-point clause with uint", kOlderFormat},
    {"string_ext/format/default precision for scientific notation", kOlderFormat},
    {"string_ext/format/default precision for scientific notation with int", kOlderFormat},
    {"string_ext/format/default precision for scientific notation with uint", kOlderFormat},
    {"string_ext/format/dyntype NaN/infinity support", kOlderFormat},
    {"string_ext/format/dyntype support for lists", kOlderFormat},
    {"string_ext/format/dyntype support for maps", kOlderFormat},
    {"string_ext/format/dyntype support for scientific notation", kOlderFormat},
    {"string_ext/format/list support for string", kOlderFormat},
    {"string_ext/format/map support (all key types)", kOlderFormat},
    {"string_ext/format/map support for string", kOlderFormat},
    {"string_ext/format/negative infinity support for decimal", kOlderFormat},
    {"string_ext/format/negative infinity support for fixed-point", kOlderFormat},
    {"string_ext/format/negative infinity support for scientific notation", kOlderFormat},
    {"string_ext/format/positive infinity support for decimal", kOlderFormat},
    {"string_ext/format/positive infinity support for fixed-point", kOlderFormat},
    {"string_ext/format/positive infinity support for scientific notation", kOlderFormat},
    {"string_ext/format/scientific notation formatting clause", kOlderFormat},
    {"string_ext/format/scientific notation formatting clause in a string variable", kOlderFormat},
    {"string_ext/reverse/empty", kNoReverse},
    {"string_ext/reverse/single_character", kNoReverse},
    {"string_ext/reverse/multiple", kNoReverse},
    {"string_ext/value_errors/indexof_out_of_range", kBeyondTheEnd},
    {"string_ext/value_errors/lastindexof_out_of_range", kBeyondTheEnd},
    {"timestamps/duration_converters/get_milliseconds", "cel-go, and so Kubernetes, answers with the total"},
};

// How many tests of a file run, and how many need what device selectors do not have. The numbers are here so that no
// test drops out unnoticed.
struct File {
  std::string_view name;
  int run;
  int messages;    // protobuf messages, in the expression, its variables or its result
  int containers;  // Kubernetes' container is always empty
  int functions;   // functions that only the test declares
};

constexpr File kFiles[]{
    {"basic", 43, 0, 0, 0},           {"bindings_ext", 6, 0, 2, 0}, {"comparisons", 334, 72, 0, 0},
    {"conversions", 109, 0, 0, 0},    {"fields", 60, 0, 0, 0},      {"fp_math", 30, 0, 0, 0},
    {"integer_math", 64, 0, 0, 0},    {"lists", 39, 0, 0, 0},       {"logic", 30, 0, 0, 0},
    {"macros", 44, 0, 0, 0},          {"macros2", 46, 0, 0, 0},     {"namespace", 3, 0, 11, 0},
    {"optionals", 59, 11, 0, 0},      {"parse", 193, 26, 0, 0},     {"plumbing", 5, 0, 0, 0},
    {"string", 51, 0, 0, 0},          {"string_ext", 213, 3, 0, 0}, {"timestamps", 78, 0, 0, 0},
    {"type_deduction", 21, 21, 0, 5},
};

struct Tally {
  int run = 0;
  std::array<int, 3> left_out{};
  std::map<std::string, std::string> failed;  // By name, with what went wrong.
};

Tally RunFile(std::string_view name) {
  const auto path = Format("{}/tests/testdata/cel/{}.textproto", TESSERA_SOURCE_DIR, name);
  const Message file = ParseTextproto(ReadFile(path).value());
  Tally tally;
  for (const Field* section : file.All("section")) {
    for (const Field* test : section->message.All("test")) {
      try {
        const std::string fault = Case(test->message).Run();
        ++tally.run;
        if (fault.empty()) continue;
        const std::string id = Format("{}/{}/{}", name, section->message.Text("name"), test->message.Text("name"));
        tally.failed[id] = test->message.Text("expr") + ": " + fault;
      } catch (const LeftOut& left_out) {
        ++tally.left_out[left_out.reason];
      }
    }
  }
  return tally;
}

TEST(Conformance, EveryCaseOfWhatSelectorsHavePassesOrIsListed) {
  std::set<std::string> exceptions;
  for (const Exception& exception : kExceptions) exceptions.emplace(exception.test);
  for (const File& file : kFiles) {
    SCOPED_TRACE(file.name);
    const Tally tally = RunFile(file.name);
    EXPECT_EQ(tally.run, file.run);
    EXPECT_THAT(tally.left_out, ::testing::ElementsAre(file.messages, file.containers, file.functions));
    for (const auto& [test, fault] : tally.failed) {
      EXPECT_EQ(exceptions.erase(test), 1) << test << ": " << fault;
    }
  }
  EXPECT_THAT(exceptions, ::testing::IsEmpty()) << "these pass, and need no exception";
}

}  // namespace
}  // namespace tessera::cel
