/// What a used up quota counts, as far as the answer tells.
enum Quota: Equatable {
    case requests
    case bytes
    case unknown
}
