/// When a step applies.
package indirect enum Condition: Sendable, Equatable {
    /// False for a log without the field, except for `exists(false)`.
    case field(String, FieldTest)
    case tag([TagPattern])
    /// False for a request without the part, except for `exists(false)`.
    case request(RequestPart, FieldTest)
    case all([Condition])
    case any([Condition])
    case not(Condition)
}

/// What a condition may ask of the request that brought a log.
package enum RequestPart: Sendable, Hashable {
    /// The first parameter of this name.
    case query(String)
    /// In lower case; one of `filters_headers`.
    case header(String)
    /// In lower case, without the port.
    case host
    case method
    /// As the request has it, without the query.
    case path

    /// Distinct ones of all filters.
    package static let countMax = 64
    /// Names in `filters_headers`.
    package static let headersMax = 32
}

package enum FieldTest: Sendable, Equatable {
    case exists(Bool)
    case isOneOf([String])
    /// Texts with `*` for any text.
    case isLike([String])
    /// Anywhere in the value.
    case matches(TextPattern)
    /// False for a value that is no decimal number.
    case atLeast(Double)
    case atMost(Double)
}
