# Sessions that nobody closes.
class Session
  def initialize(user)
    @visited = Array.new(2_500, user)
  end
end

$sessions = {}
1000.times { |user| $sessions[user] = Session.new(user) } # LEAK
