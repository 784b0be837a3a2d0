// The whole of Boost.JSON, compiled once and position-independent, so that shared objects can hold it too.
#include <boost/json/src.hpp>
