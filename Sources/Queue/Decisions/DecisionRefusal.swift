/// Why a decision was not stored.
package enum DecisionRefusal: Equatable, Sendable {
    /// It adds a setting to as many as are kept. What changes one, or takes one away, is never refused for this.
    case tooManySettings
    /// One of its settings is larger than a setting may be.
    case tooLarge
    /// Too many wait to be stored already.
    case busy
    /// Nothing can be written now.
    case queue(QueueAdmission)
}
