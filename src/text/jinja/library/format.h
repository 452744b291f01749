// 'text' % values and 'text'.format(…), as Python formats.
#pragma once

#include "base/result.h"
#include "text/jinja/library/builtins.h"
#include "text/jinja/value.h"

namespace anedvd::jinja {

// `values`: a tuple fills the conversions in order, a dict the %(name)s ones, anything else is the only value.
Result<Value> format_percent(Evaluator& evaluator, const Text& format, const Value& values);

// Fields {}, {0}, {name}, with .attribute and [item], !r and !s, and the usual specifications.
Result<Value> format_braces(Evaluator& evaluator, const Text& format, const Arguments& arguments);

}  // namespace anedvd::jinja
