#include <yaml.h>

#include <map>
#include <string>

#include "base/text.h"
#include "json/value.h"
#include "json/yaml_scalar.h"

namespace tessera::json {
namespace {

struct Event {
  yaml_event_t raw{};
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&raw); }

  std::string Where() const { return Format("line {}, column {}", raw.start_mark.line + 1, raw.start_mark.column + 1); }
};

std::unexpected<Error> Bad(const Event& event, std::string_view what) {
  return BadConfig("BadYaml", Format("{} at {}", what, event.Where()));
}

std::string_view View(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

std::string_view Text(const yaml_event_t& event) {
  return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
}

class Loader {
 public:
  explicit Loader(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) Abort("libyaml has no memory");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() { yaml_parser_delete(&parser_); }

  Result<std::vector<MarkedDocument>> Documents() {
    std::vector<MarkedDocument> documents;
    for (std::size_t number = 0;;) {
      Event event;
      TESSERA_TRY(Next(event));
      switch (event.raw.type) {
        case YAML_STREAM_END_EVENT:
          return documents;
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
          break;
        case YAML_DOCUMENT_START_EVENT: {
          anchors_.clear();
          Event first;
          TESSERA_TRY(Next(first));
          MarkedDocument document{.number = ++number};
          document.mark.line = LineNumber(first);
          TESSERA_ASSIGN(document.value, Node(first, 0, document.mark));
          if (!document.value.is_null()) documents.push_back(std::move(document));
          break;
        }
        default:
          return Bad(event, "unexpected content");
      }
    }
  }

 private:
  Result<void> Next(Event& event) {
    if (yaml_parser_parse(&parser_, &event.raw) == 0) {
      return BadConfig("BadYaml",
                       Format("{} at line {}, column {}", parser_.problem != nullptr ? parser_.problem : "syntax error",
                              parser_.problem_mark.line + 1, parser_.problem_mark.column + 1));
    }
    return {};
  }

  // What a value costs once it is in the document.
  struct Cost {
    std::size_t nodes = 0, bytes = 0;
  };

  Result<void> Spend(const Event& event, std::size_t depth, Cost cost) {
    spent_.nodes += cost.nodes;
    spent_.bytes += cost.bytes;
    if (spent_.nodes > kMaxYamlNodes) return Bad(event, "too many values");
    if (spent_.bytes > kMaxYamlBytes) return Bad(event, "too much text");
    if (depth > kMaxDepth) return Bad(event, "nested too deeply");
    return {};
  }

  static std::uint32_t LineNumber(const Event& event) {
    return static_cast<std::uint32_t>(event.raw.start_mark.line + 1);
  }

  // Adds the parts of the value to `mark`, whose line is set.
  Result<Value> Node(const Event& event, std::size_t depth, Mark& mark) {
    const bool scalar = event.raw.type == YAML_SCALAR_EVENT;
    const Cost before = spent_;
    TESSERA_TRY(Spend(event, depth, {1, scalar ? event.raw.data.scalar.length : 0}));
    switch (event.raw.type) {
      case YAML_ALIAS_EVENT: {
        const auto found = anchors_.find(View(event.raw.data.alias.anchor));
        if (found == anchors_.end()) return Bad(event, "alias to an unknown anchor");
        TESSERA_TRY(Spend(event, depth, found->second.cost));
        return found->second.value;
      }
      case YAML_SCALAR_EVENT:
        return Remember(event.raw.data.scalar.anchor, before, Scalar(event));
      case YAML_SEQUENCE_START_EVENT: {
        TESSERA_ASSIGN(Value array, Sequence(event, depth, mark));
        return Remember(event.raw.data.sequence_start.anchor, before, std::move(array));
      }
      case YAML_MAPPING_START_EVENT: {
        TESSERA_ASSIGN(Value object, Mapping(event, depth, mark));
        return Remember(event.raw.data.mapping_start.anchor, before, std::move(object));
      }
      default:
        return Bad(event, "unexpected content");
    }
  }

  Result<Value> Remember(const yaml_char_t* anchor, const Cost& before, Result<Value> value) {
    if (anchor != nullptr && value.has_value()) {
      const Cost cost{spent_.nodes - before.nodes, spent_.bytes - before.bytes};
      anchors_.insert_or_assign(std::string(View(anchor)), Anchor{*value, cost});
    }
    return value;
  }

  Result<Value> Scalar(const Event& event) {
    const std::string_view tag = View(event.raw.data.scalar.tag);
    if (tag == "tag:yaml.org,2002:str" || tag == "!") return Value(Text(event.raw));
    if (!tag.empty()) return Bad(event, Format("tag {} is not supported", Quote(tag)));
    if (event.raw.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return Value(Text(event.raw));
    return ResolveYamlScalar(Text(event.raw));
  }

  Result<Value> Sequence(const Event& start, std::size_t depth, Mark& mark) {
    if (start.raw.data.sequence_start.tag != nullptr) return Bad(start, "tags on lists are not supported");
    Array array;
    for (;;) {
      Event event;
      TESSERA_TRY(Next(event));
      if (event.raw.type == YAML_SEQUENCE_END_EVENT) return Value(std::move(array));
      mark.parts.emplace_back().line = LineNumber(event);
      TESSERA_ASSIGN(Value item, Node(event, depth + 1, mark.parts.back()));
      array.push_back(std::move(item));
    }
  }

  Result<Value> Mapping(const Event& start, std::size_t depth, Mark& mark) {
    if (start.raw.data.mapping_start.tag != nullptr) return Bad(start, "tags on mappings are not supported");
    Object object;
    for (;;) {
      Event event;
      TESSERA_TRY(Next(event));
      if (event.raw.type == YAML_MAPPING_END_EVENT) return Value(std::move(object));
      if (event.raw.type != YAML_SCALAR_EVENT) return Bad(event, "a key must be a string");
      const std::string key(Text(event.raw));
      TESSERA_TRY(Spend(event, depth, {0, key.size()}));
      if (key == "<<" && event.raw.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        return Bad(event, "merge keys (<<) are not supported");
      }
      if (object.contains(key)) return Bad(event, Format("duplicate key {}", Quote(key)));
      mark.parts.emplace_back().line = LineNumber(event);
      Event first;
      TESSERA_TRY(Next(first));
      TESSERA_ASSIGN(Value item, Node(first, depth + 1, mark.parts.back()));
      object.emplace(key, std::move(item));
    }
  }

  struct Anchor {
    Value value;
    Cost cost;  // What one alias to it adds to the document.
  };

  yaml_parser_t parser_{};
  std::map<std::string, Anchor, std::less<>> anchors_;
  Cost spent_;
};

}  // namespace

Result<std::vector<MarkedDocument>> ParseMarkedYaml(std::string_view text) { return Loader(text).Documents(); }

Result<std::vector<Value>> ParseYaml(std::string_view text) {
  TESSERA_ASSIGN(std::vector<MarkedDocument> documents, ParseMarkedYaml(text));
  std::vector<Value> values;
  values.reserve(documents.size());
  for (MarkedDocument& document : documents) values.push_back(std::move(document.value));
  return values;
}

}  // namespace tessera::json
