/// What became of what was to be told.
package struct WebhookStatus: Sendable, Equatable {
    /// Scheme, host and port; nil when nobody is told.
    package var place: String?
    package var sent = 0
    /// Given up after attempts.
    package var failed = 0
    /// Made room for others, or had nobody left to be told to.
    package var dropped = 0
    package var waiting = 0
    /// Of the last attempt that failed, until one does not.
    package var problem: String?
}
