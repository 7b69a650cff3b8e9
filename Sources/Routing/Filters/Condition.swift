/// When a step applies.
package indirect enum Condition: Sendable, Equatable {
    /// False for a log without the field, except for `exists(false)`.
    case field(String, FieldTest)
    case tag([TagPattern])
    case all([Condition])
    case any([Condition])
    case not(Condition)
}

package enum FieldTest: Sendable, Equatable {
    case exists(Bool)
    case isOneOf([String])
    /// Anywhere in the value.
    case matches(TextPattern)
    /// False for a value that is no decimal number.
    case atLeast(Double)
    case atMost(Double)
}
